#include "kernels/cuda/launch_plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "kernels/tiles.h"

namespace warpfold::cuda {
namespace {

int CeilLog2(std::int64_t n) {
  return std::countr_zero(static_cast<std::uint64_t>(PowerOfTwoAtLeast(n)));
}

}  // namespace

ShortRowLaunch PlanShortRows(std::int64_t rows, std::int64_t row_vectors,
                             const ShortRowCandidates& candidates, int block_rows_max,
                             const DeviceShape& device) {
  constexpr int kRowThreadsMax = 32;
  constexpr int kFinishedRows = 32;  // of a block: as many as a warp finishes
  ShortRowLaunch best{.blocks = 0};
  for (int way = 0; way < candidates.count; ++way) {
    ShortRowLaunch launch;
    launch.thread_vectors = candidates.thread_vectors[way];
    const std::int64_t needed = CeilDiv(row_vectors, launch.thread_vectors);
    if (needed > kRowThreadsMax) continue;
    // Two neighbouring threads read the 32 bytes that memory gives at least; of the shortest rows
    // one thread's loads do. Nor are threads for vectors that there are not.
    const bool is_idle = launch.thread_vectors > PowerOfTwoAtLeast(row_vectors);
    if (is_idle || needed < (row_vectors > 4 ? 2 : 1)) continue;
    const int rows_at_once = candidates.RowsAtOnce(launch.thread_vectors);
    const int threads_min = kShortRowThreads * rows_at_once / block_rows_max;
    launch.threads_log2 = CeilLog2(std::max<std::int64_t>(needed, threads_min));
    const int step_rows = (kShortRowThreads >> launch.threads_log2) * rows_at_once;
    const bool fills = rows >= 2LL * device.sm_count * std::max(step_rows, kFinishedRows);
    launch.steps = fills ? std::max(kFinishedRows / step_rows, 1) : 1;
    launch.blocks = CeilDiv(rows, std::int64_t{step_rows} * launch.steps);
    if (launch.blocks >= device.sm_count) return launch;
    // Few rows are better spread over the SMs.
    if (launch.blocks > best.blocks) best = launch;
  }
  return best;
}

namespace {

RowLaunch RowsInBlocksOf(int tiles, std::int64_t rows, std::int64_t row_tiles) {
  RowLaunch launch;
  launch.tiles = tiles;
  launch.tiles_per_row_log2 = CeilLog2(std::min<std::int64_t>(row_tiles, tiles));
  launch.blocks_per_row = CeilDiv(row_tiles, tiles);
  const std::int64_t rows_per_block = tiles >> launch.tiles_per_row_log2;
  launch.blocks = CeilDiv(rows, rows_per_block) * launch.blocks_per_row;
  return launch;
}

}  // namespace

RowLaunch PlanRows(std::int64_t rows, std::int64_t row_tiles, const BlockTiles& choice,
                   const DeviceShape& device) {
  // Large blocks leave few partials for the second pass; small ones spread a small tensor over all
  // SMs. The sum of 2^21 f32, of which large ones give 128 of 132 SMs one, took 4.97 us in those
  // and 5.12 in small ones, of 2^20 4.04 and 3.85 (H200, 2026-11-22). But rows of one block need no
  // second pass: one launch beats two by about 1 us.
  const bool fills = 4 * rows * row_tiles >= std::int64_t{3} * device.sm_count * choice.large;
  const bool is_one_block = row_tiles > choice.small && row_tiles <= choice.large;
  const int tiles = fills || is_one_block ? choice.large : choice.small;
  return RowsInBlocksOf(tiles, rows, row_tiles);
}

RowLaunch PlanPipelinedRows(std::int64_t rows, std::int64_t row_tiles, int block_overhead,
                            const DeviceShape& device) {
  // The second pass over as few partials takes one block, and not all of its threads: of 2 to 8
  // million f32 the statistics took 9.2, 11.7 and 16.3 us in 256 blocks, 10.3, 13.2 and 17.9 in 512
  // (H200, 2026-11-21).
  constexpr std::int64_t kFewPartials = 256;
  // Blocks run in waves of as many as are resident, and take the longer the more tiles they have.
  const std::int64_t resident = std::int64_t{kPipelineBlocksPerSm} * device.sm_count;
  RowLaunch best;
  std::int64_t best_time = std::numeric_limits<std::int64_t>::max();
  for (int tiles = kPipelinedTiles.small; tiles <= kPipelinedTiles.large; tiles *= 2) {
    const RowLaunch launch = RowsInBlocksOf(tiles, rows, row_tiles);
    if (launch.blocks <= kFewPartials) return launch;
    const std::int64_t time = CeilDiv(launch.blocks, resident) * (tiles + block_overhead);
    if (time > best_time) continue;
    best = launch;
    best_time = time;
  }
  return best;
}

namespace {

// `groups`: outputs divided by those of one thread. Of a block that folds over its threads y,
// `tree_threads` are its threads, `tree_threads_x` at most its threads x.
TreeLaunch TreeWithLeaves(int leaves, std::int64_t groups, std::int64_t leaf_count,
                          std::int64_t tree_threads = kTreeThreads,
                          std::int64_t tree_threads_x = 32) {
  TreeLaunch launch;
  launch.leaves = leaves;
  const std::int64_t y_needed = PowerOfTwoAtLeast(CeilDiv(leaf_count, leaves));
  // Small blocks where nothing is folded over threads: of columns 2 to 4 % faster than twice as
  // large ones in the mean (H200, 2026-11-23).
  std::int64_t threads_x = std::min<std::int64_t>(tree_threads, 128);
  launch.threads_y = 1;
  if (y_needed > 1) {
    // At most a warp of outputs, so that threads y fold through shuffles and one row of shared
    // memory a warp.
    threads_x = std::min(PowerOfTwoAtLeast(groups), tree_threads_x);
    launch.threads_y = static_cast<int>(std::min(y_needed, tree_threads / threads_x));
    threads_x = std::max<std::int64_t>(threads_x, 32 / launch.threads_y);  // whole warps only
  }
  launch.threads_x_log2 = CeilLog2(threads_x);
  launch.blocks_x = CeilDiv(groups, threads_x);
  launch.parts = CeilDiv(leaf_count, std::int64_t{leaves} * launch.threads_y);
  return launch;
}

// A launch candidate for columns, and the threads it has to give each SM to be taken.
struct ColumnCandidate {
  bool has_vectors;
  int leaves;
  int block_threads;
  int threads_per_sm;
  bool is_for_one_pass = false;  // not where it leaves partials
  bool is_pipelined = false;
  int threads_x = 32;  // of a block with threads y
};
// From the one that leaves the fewest partials to the one that spreads the fewest columns over the
// most threads; small blocks overlap better, and large ones save a second pass. Of sums, minima and
// a fusion of seven element types, in 1,933 cases of 1 MiB to 4 GiB, these took 3.1 % longer in the
// mean than the fastest of 17 launch shapes did, 48 % at most (H200, graph replays, 2026-11-23). Of
// few elements one pass of few threads beats two of many: two take about 1 us longer.
constexpr ColumnCandidate kPlainCandidates[] = {
    {true, 16, 256, 256, true}, {true, 32, 256, 384, true}, {true, 32, 256, 6000},
    {true, 16, 128, 256},       {true, 8, 256, 128, true},  {true, 8, 128, 128},
    {false, 8, 256, 96, true},  {false, 8, 128, 96},        {true, 2, 256, 96, true},
    {true, 2, 128, 96},         {false, 1, 256, 0, true},   {true, 2, 256, 0, true},
    {false, 1, 256, 0}};
// The same of few accumulators whose leaves may be pipelined, by the bytes of an element: of sums
// of f32 and f64 in 285 cases of 64 KiB to 512 MiB, 0.8 % and 1.3 % longer than the fastest of 16
// launch shapes, 7 and 17 % at most (H100, graph replays, 2026-11-27). A second pass over bounded
// sums takes 1 to 2 us, which one pass of few threads saves.
constexpr ColumnCandidate kPipelinedCandidates[] = {
    {true, kPipelinedLeaves, 256, 896, true, true, 16},
    {true, 32, 128, 192, false, false, 16},
    {false, 8, 256, 0, true},
    {true, kPipelinedLeaves, 256, 64, false, true, 8},
    {true, 8, 128, 384},
    {false, 8, 128, 0},
    {true, 2, 256, 128, true},
    {false, 1, 256, 0}};
constexpr ColumnCandidate kWidePipelinedCandidates[] = {
    {false, 8, 256, 896, true},
    {true, 8, 256, 512, false, false, 16},
    {true, kPipelinedLeaves, 256, 64, false, true, 8},
    {false, 8, 256, 64, true},
    {false, 8, 128, 64},
    {true, 2, 256, 96},
    {false, 1, 256, 0, true},
    {false, 8, 128, 0, true},
    {false, 1, 256, 0}};
constexpr ColumnCandidate kComputeBoundCandidates[] = {
    {true, 16, 256, 1024, true}, {true, 8, 256, 512}, {true, 8, 128, 256}, {false, 1, 256, 0}};

// The candidates to choose from, in order; the last one suits all columns.
std::span<const ColumnCandidate> CandidatesOf(ColumnLoop loop) {
  switch (loop) {
    case ColumnLoop::kPlain:
      return kPlainCandidates;
    case ColumnLoop::kPipelined:
      return kPipelinedCandidates;
    case ColumnLoop::kWidePipelined:
      return kWidePipelinedCandidates;
    case ColumnLoop::kComputeBound:
      return kComputeBoundCandidates;
  }
  __builtin_unreachable();
}

// Whether there is a use for `candidate` of a fold with few accumulators: others beat it where
// there are fewer leaves; but beside one leaf a second that is not there costs less than columns
// one by one.
bool FitsColumns(const ColumnCandidate& candidate, int vector, std::int64_t leaves_max) {
  if (candidate.has_vectors && vector == 1) return false;
  return candidate.leaves <= std::max<std::int64_t>(leaves_max, 2);
}

// Whether `launch`, made from `candidate`, has the shape that it is for. Neighbouring threads that
// are pipelined have to read 128 bytes side by side: with 64, 16 columns of f32, they were 15 %
// slower than straight code (H200, 2026-11-23).
bool IsApplicable(const ColumnCandidate& candidate, const TreeLaunch& launch) {
  constexpr int kPipelinedThreadsXLog2Min = 3;
  if (candidate.is_pipelined && launch.threads_x_log2 < kPipelinedThreadsXLog2Min) return false;
  return !candidate.is_for_one_pass || launch.parts == 1;
}

// Whether a block of `launch` finds its shared memory. On 7.5 a pipelined one of 256 threads does
// not.
bool HasSharedMemory(const TreeLaunch& launch, const DeviceShape& device) {
  return !launch.is_pipelined || launch.dynamic_shared_bytes() + kTreeDeclaredSharedBytesMax <=
                                     device.shared_bytes_per_block;
}

}  // namespace

TreeLaunch PlanColumns(std::int64_t outputs, int vector, std::int64_t leaf_count, ColumnLoop loop,
                       const DeviceShape& device) {
  const std::int64_t leaves_max = PowerOfTwoAtLeast(leaf_count);
  for (const ColumnCandidate& candidate : CandidatesOf(loop)) {
    if (loop != ColumnLoop::kComputeBound && !FitsColumns(candidate, vector, leaves_max)) continue;
    const int columns = candidate.has_vectors ? vector : 1;
    const int leaves = static_cast<int>(std::min<std::int64_t>(candidate.leaves, leaves_max));
    TreeLaunch launch = TreeWithLeaves(leaves, outputs / columns, leaf_count,
                                       candidate.block_threads, candidate.threads_x);
    launch.vector = columns;
    launch.is_pipelined = candidate.is_pipelined;
    if (!IsApplicable(candidate, launch) || !HasSharedMemory(launch, device)) continue;
    const std::int64_t threads_min = std::int64_t{candidate.threads_per_sm} * device.sm_count;
    if (launch.blocks() >= CeilDiv(threads_min, launch.threads())) return launch;
  }
  __builtin_unreachable();
}

TreeLaunch PlanStates(std::int64_t outputs, std::int64_t state_count, bool has_many_accumulators) {
  // Every pass is a launch, so the fewest passes win: the shortest run that ends in this one.
  if (!has_many_accumulators) {
    for (const int leaves : {1, 8}) {
      const TreeLaunch launch = TreeWithLeaves(leaves, outputs, state_count);
      if (launch.parts == 1) return launch;
    }
    return TreeWithLeaves(32, outputs, state_count);
  }
  // Compute-bound work spreads over as many blocks, and threads y, as there are outputs for.
  constexpr std::int64_t kBlocks = 128;
  const std::int64_t threads_x =
      std::clamp<std::int64_t>(PowerOfTwoAtLeast(outputs) / kBlocks, 1, 32);
  // A thread joins what it has one after another: of 256 MiB of f32 all sixteen ops took 100 us
  // with 2,048 partials in one pass of 4 a thread, and 92 in two of one (H200, 2026-11-23).
  const bool are_few = outputs <= kBlocks;
  for (int leaves = 1; leaves <= (are_few ? 2 : 8); leaves *= 2) {
    TreeLaunch launch = TreeWithLeaves(leaves, outputs, state_count, kTreeThreads, threads_x);
    if (launch.parts != 1) continue;
    // The warps of a block with one output share its ops.
    constexpr int kThreadsMin = 256;
    if (launch.threads_x_log2 == 0) launch.threads_y = std::max(launch.threads_y, kThreadsMin);
    return launch;
  }
  return TreeWithLeaves(are_few ? 1 : 8, outputs, state_count, kTreeThreads, threads_x);
}

PartialOrder OrderForStates(std::int64_t outputs, std::int64_t state_count,
                            bool has_many_accumulators) {
  const TreeLaunch launch = PlanStates(outputs, state_count, has_many_accumulators);
  return {std::countr_zero(static_cast<unsigned>(launch.leaves)), launch.parts * launch.threads_y};
}

}  // namespace warpfold::cuda
