// Launch shapes: how many threads, blocks and passes a reduction takes on a given GPU. Pure host
// arithmetic, tested without a GPU. Nothing here can change a result's bits: states join in any
// order, and these choices only say which block reduces which elements.
#ifndef WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_
#define WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// What launch shapes depend on.
struct DeviceShape {
  int sm_count = 132;
  // Whether the GPU runs code that was compiled for 9.0 or later, which waits for what it reads
  // (see dependent_launch.cuh). Code for older GPUs does not wait, whatever GPU runs it.
  bool overlaps_passes = false;
  // The most that a block may ask for (cudaDevAttrMaxSharedMemoryPerBlockOptin): 64 KiB on compute
  // capability 7.5, 163 on 8.0, 99 on 8.6, 8.9 and 12.0, 227 on 9.0 and 10.0.
  int shared_bytes_per_block = 227 << 10;
};

// Rows of at most half a tile: 2^threads_log2 threads fold a row, of which each holds up to
// `thread_vectors` vectors, of several rows at once where those are few, and a block takes `steps`
// times as many rows as that gives it.
inline constexpr int kShortRowThreads = 256;
struct ShortRowLaunch {
  int thread_vectors = 1;
  int threads_log2 = 0;
  int steps = 1;
  std::int64_t blocks = 1;
};
// How many vectors of a row a thread can hold, the best first, and how many of all its rows at once
// where it holds fewer.
struct ShortRowCandidates {
  int thread_vectors[4];
  int count;
  int vectors_at_once = 1;

  int RowsAtOnce(int vectors) const {
    return vectors < vectors_at_once ? vectors_at_once / vectors : 1;
  }
};
// `row_vectors`: at most 32 for each that a thread can hold. `block_rows_max`: a power of two.
ShortRowLaunch PlanShortRows(std::int64_t rows, std::int64_t row_vectors,
                             const ShortRowCandidates& candidates, int block_rows_max,
                             const DeviceShape& device);

// Longer rows, in tiles: a block folds `tiles` of them. It gives each row 2^tiles_per_row_log2 and
// takes as many whole rows as it has tiles for, or, when a row has more tiles than a block, one of
// `blocks_per_row` parts of it; each part is a partial for the second pass.
struct RowLaunch {
  int tiles = 16;  // a power of two
  int tiles_per_row_log2 = 4;
  std::int64_t blocks_per_row = 1;
  std::int64_t blocks = 1;
};
// Of folds whose warps take a tile each: blocks of one of two sizes, or of rows that vectors cannot
// load of one. Of 4 tiles at least: below that the partials cost more than idle SMs.
struct BlockTiles {
  int small;
  int large;
};
inline constexpr BlockTiles kTileAWarp = {4, 16};
inline constexpr BlockTiles kUnalignedTiles = {8, 8};
RowLaunch PlanRows(std::int64_t rows, std::int64_t row_tiles, const BlockTiles& choice,
                   const DeviceShape& device);

// Of folds whose kPipelineWarps warps take one tile after another (pipelined_rows.cuh).
// `block_overhead`: what a block takes beside its tiles, in times of a tile.
inline constexpr int kPipelineWarpsLog2 = 2;
inline constexpr int kPipelineWarps = 1 << kPipelineWarpsLog2;
inline constexpr int kPipelineBlocksPerSm = 5;
inline constexpr BlockTiles kPipelinedTiles = {kPipelineWarps, 32};
RowLaunch PlanPipelinedRows(std::int64_t rows, std::int64_t row_tiles, int block_overhead,
                            const DeviceShape& device);

// Shared memory of blocks whose columns are pipelined: two leaves of a vector of each row for each
// thread, beside at most so much that the kernel declares itself (tree_kernel.cuh).
inline constexpr int kPipelinedSharedBytesPerThread = 2 * kLeafRows * kVectorBytes;
inline constexpr int kTreeDeclaredSharedBytesMax = 10 << 10;

// Columns, and states in the second pass: 2^threads_x_log2 threads `x` go over outputs, `vector`
// neighbours each, threads `y` over the count, `leaves` leaves each; the block folds its threads
// `y`. `parts` blocks along the count leave one partial each.
struct TreeLaunch {
  int vector = 1;
  int threads_x_log2 = 5;
  int threads_y = 8;  // a power of two
  int leaves = 8;
  bool is_pipelined = false;  // the leaves of columns
  std::int64_t blocks_x = 1;
  std::int64_t parts = 1;

  int threads() const { return threads_y << threads_x_log2; }
  std::int64_t blocks() const { return blocks_x * parts; }
  // Beside what the kernel declares.
  int dynamic_shared_bytes() const {
    return is_pipelined ? threads() * kPipelinedSharedBytesPerThread : 0;
  }
};
// The most threads of a block of states, and of columns.
inline constexpr int kTreeThreads = 512;
inline constexpr int kColumnThreads = 256;

// Leaves of a thread that are pipelined.
inline constexpr int kPipelinedLeaves = 16;

// How threads can go over their leaves of columns.
enum class ColumnLoop {
  kPlain,
  kPipelined,      // also with the next leaf in flight, of vectors (pipelined_columns.cuh)
  kWidePipelined,  // the same of elements of 8 bytes
  kComputeBound    // kIsComputeBound (pairwise.cuh)
};
// First pass over `outputs` columns. `vector`: how many neighbours a thread can load at a time;
// `leaf_count`: leaves along the count.
TreeLaunch PlanColumns(std::int64_t outputs, int vector, std::int64_t leaf_count, ColumnLoop loop,
                       const DeviceShape& device);

// Second pass over `state_count` states for each of `outputs` outputs. `has_many_accumulators`:
// joining two states is itself compute-bound.
TreeLaunch PlanStates(std::int64_t outputs, std::int64_t state_count, bool has_many_accumulators);

// Where a pass leaves partial `index` so that the next pass reads neighbours with neighbouring
// threads: a thread of that pass folds 2^leaves_log2 neighbouring partials, one after another, and
// `threads` threads do so side by side. Stored in order instead, a warp would touch a cache line a
// lane: on an H200 (2026-11-21) the second pass over 16,384 partials of 24 bytes took 50 us, a
// fifth of the whole reduction of 1 GiB.
struct PartialOrder {
  int leaves_log2 = 0;
  std::int64_t threads = 0;  // irrelevant while leaves_log2 is 0: the order is then the index's own

  WARPFOLD_HD constexpr std::int64_t Slot(std::int64_t index) const {
    return (index & ((std::int64_t{1} << leaves_log2) - 1)) * threads + (index >> leaves_log2);
  }
  // Slots to allocate for `count` partials.
  constexpr std::int64_t Slots(std::int64_t count) const {
    return leaves_log2 == 0 ? count : threads << leaves_log2;
  }
};
PartialOrder OrderForStates(std::int64_t outputs, std::int64_t state_count,
                            bool has_many_accumulators);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LAUNCH_PLAN_H_
