// Launch shapes: how many threads, blocks and passes a reduction takes on a given GPU. Pure host arithmetic, tested without a
// GPU. Nothing here can change a result's bits: the canonical order is a tree over element indices, and these choices only say
// which block computes which subtree.
#ifndef WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_
#define WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_

#include <cstddef>
#include <cstdint>

namespace warpfold::cuda {

// What launch shapes depend on.
struct DeviceShape {
  int sm_count = 132;
};

// Rows shorter than a warp's single load: `lanes` lanes fold a row, each thread serves kShortRowBatch rows.
inline constexpr int kShortRowThreads = 256;
inline constexpr int kShortRowBatch = 4;
struct ShortRowLaunch {
  int lanes = 1;
  std::int64_t blocks = 1;
};
ShortRowLaunch PlanShortRows(std::int64_t rows, std::int64_t row_elements, int vector_elements);

// Longer rows: a warp folds a tile. A block of `warps` warps takes `warps / warps_per_row` whole rows, or, when a row has more
// tiles than that, one of `blocks_per_row` parts of it; each part is a partial for the second pass.
struct RowLaunch {
  int warps = 16;
  int warps_per_row = 16;
  std::int64_t blocks_per_row = 1;
  std::int64_t blocks = 1;
};
RowLaunch PlanRows(std::int64_t rows, std::int64_t row_tiles, const DeviceShape& device);

// Columns, and states in the second pass: threads `x` go over outputs, threads `y` over the count, `leaves` leaves each; the
// block folds its threads `y`. `parts` blocks along the count leave one partial each.
struct TreeLaunch {
  int threads_x = 32;
  int threads_y = 8;
  int leaves = 8;
  std::int64_t blocks_x = 1;
  std::int64_t parts = 1;

  std::int64_t blocks() const { return blocks_x * parts; }
};
// First pass over columns. `groups`: outputs divided by the outputs of one thread; `leaf_count`: leaves along the count.
TreeLaunch PlanColumns(std::int64_t groups, std::int64_t leaf_count, const DeviceShape& device);

// Second pass over `state_count` states for each of `groups` outputs.
TreeLaunch PlanStates(std::int64_t groups, std::int64_t state_count);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_
