#include "kernels/cuda/launch_plan.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/canonical.h"

namespace warpfold::cuda {
namespace {

int CeilLog2(std::int64_t n) {
  return std::countr_zero(static_cast<std::uint64_t>(PowerOfTwoAtLeast(n)));
}

}  // namespace

ShortRowLaunch PlanShortRows(std::int64_t rows, std::int64_t row_elements, int vector_elements,
                             int batch) {
  ShortRowLaunch launch;
  launch.lanes_log2 = std::min(CeilLog2(CeilDiv(row_elements, vector_elements)), 5);
  const std::int64_t rows_per_block = std::int64_t{kShortRowThreads >> launch.lanes_log2} * batch;
  launch.blocks = CeilDiv(rows, rows_per_block);
  return launch;
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
  // SMs, of which every one is to have two. But a tensor of one block needs no second pass: one
  // launch beats two by about 1 us.
  const bool fills = rows * row_tiles >= 2LL * device.sm_count * choice.large;
  const bool is_one_block = rows == 1 && row_tiles > choice.small && row_tiles <= choice.large;
  const int tiles = fills || is_one_block ? choice.large : choice.small;
  return RowsInBlocksOf(tiles, rows, row_tiles);
}

RowLaunch PlanPipelinedRows(std::int64_t rows, std::int64_t row_tiles, int block_overhead,
                            const DeviceShape& device) {
  // Blocks run in waves of as many as are resident, and take the longer the more tiles they have:
  // 16 million f32 were described in 25 us by one wave of blocks of 32 tiles and in 28 by seven of
  // 4; 32 million in 44 by two of 32 and in 42 by seven of 8 (H200, 2026-11-21).
  const std::int64_t resident = std::int64_t{kPipelineBlocksPerSm} * device.sm_count;
  RowLaunch best;
  std::int64_t best_time = std::numeric_limits<std::int64_t>::max();
  for (int tiles = kPipelinedTiles.large; tiles >= kPipelinedTiles.small; tiles /= 2) {
    const RowLaunch launch = RowsInBlocksOf(tiles, rows, row_tiles);
    const std::int64_t time = CeilDiv(launch.blocks, resident) * (tiles + block_overhead);
    if (time >= best_time) continue;
    best = launch;
    best_time = time;
  }
  return best;
}

namespace {

constexpr int kTreeThreads = 512;

// `tree_threads`: of a block that folds over its threads y.
TreeLaunch TreeWithLeaves(int leaves, std::int64_t groups, std::int64_t leaf_count,
                          std::int64_t tree_threads = kTreeThreads) {
  constexpr std::int64_t kNoTreeThreads = 256;
  TreeLaunch launch;
  launch.leaves = leaves;
  const std::int64_t y_needed = PowerOfTwoAtLeast(CeilDiv(leaf_count, leaves));
  std::int64_t threads_x = kNoTreeThreads;
  launch.threads_y = 1;
  if (y_needed > 1) {
    // At most a warp of outputs, so that threads y fold through shuffles and one row of shared
    // memory a warp.
    threads_x = std::min<std::int64_t>(PowerOfTwoAtLeast(groups), 32);
    launch.threads_y = static_cast<int>(std::min(y_needed, tree_threads / threads_x));
    threads_x = std::max<std::int64_t>(threads_x, 32 / launch.threads_y);  // whole warps only
  }
  launch.threads_x_log2 = CeilLog2(threads_x);
  launch.blocks_x = CeilDiv(groups, threads_x);
  launch.parts = CeilDiv(leaf_count, std::int64_t{leaves} * launch.threads_y);
  return launch;
}

}  // namespace

TreeLaunch PlanColumns(std::int64_t groups, std::int64_t leaf_count, const DeviceShape& device) {
  // A thread that has few leaves needs few registers, and its columns are alone in a block.
  for (const int leaves : {1, 2}) {
    if (leaf_count <= leaves) return TreeWithLeaves(leaves, groups, leaf_count);
  }
  // Long runs a thread leave fewer partials; short ones, and small blocks before them, keep all SMs
  // busy.
  for (const int threads : {kTreeThreads, kTreeThreads / 2, kTreeThreads / 4}) {
    const TreeLaunch longer = TreeWithLeaves(8, groups, leaf_count, threads);
    if (longer.blocks() >= 2LL * device.sm_count) return longer;
  }
  return TreeWithLeaves(1, groups, leaf_count);
}

TreeLaunch PlanStates(std::int64_t groups, std::int64_t state_count, bool heavy) {
  // Long work spreads over as many threads as there are, where outputs are so few that a block has
  // many for each.
  constexpr std::int64_t kFewGroups = 8;
  if (heavy && groups <= kFewGroups) return TreeWithLeaves(1, groups, state_count);
  // Every pass is a launch, so the fewest passes win: the shortest run that ends in this one.
  for (const int leaves : {1, 8}) {
    const TreeLaunch launch = TreeWithLeaves(leaves, groups, state_count);
    if (launch.parts == 1) return launch;
  }
  return TreeWithLeaves(32, groups, state_count);
}

PartialOrder OrderForStates(std::int64_t groups, std::int64_t state_count, bool heavy) {
  const TreeLaunch launch = PlanStates(groups, state_count, heavy);
  return {std::countr_zero(static_cast<unsigned>(launch.leaves)), launch.parts * launch.threads_y};
}

}  // namespace warpfold::cuda
