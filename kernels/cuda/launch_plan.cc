#include "kernels/cuda/launch_plan.h"

#include <algorithm>

#include "kernels/canonical.h"

namespace warpfold::cuda {

ShortRowLaunch PlanShortRows(std::int64_t rows, std::int64_t row_elements, int vector_elements) {
  ShortRowLaunch launch;
  launch.lanes = static_cast<int>(PowerOfTwoAtLeast(CeilDiv(row_elements, vector_elements)));
  const std::int64_t rows_per_block =
      std::int64_t{kShortRowThreads / launch.lanes} * kShortRowBatch;
  launch.blocks = CeilDiv(rows, rows_per_block);
  return launch;
}

RowLaunch PlanRows(std::int64_t rows, std::int64_t row_tiles, const DeviceShape& device) {
  RowLaunch launch;
  // Large blocks leave few partials for the second pass; small blocks spread a small tensor over all SMs. Halve until there are
  // two blocks for every SM. A block of 4 warps is the least: below it the partials cost more than the idle SMs.
  launch.warps = 16;
  while (launch.warps > 4 && rows * row_tiles < 2LL * device.sm_count * launch.warps) {
    launch.warps /= 2;
  }
  // A tensor of one block needs no second pass whatever the spread: one launch beats two by about 1 us.
  if (rows == 1 && row_tiles <= 16) launch.warps = 16;
  launch.warps_per_row =
      static_cast<int>(std::min<std::int64_t>(PowerOfTwoAtLeast(row_tiles), launch.warps));
  launch.blocks_per_row = CeilDiv(row_tiles, launch.warps);
  const std::int64_t rows_per_block = launch.warps / launch.warps_per_row;
  launch.blocks = CeilDiv(rows, rows_per_block) * launch.blocks_per_row;
  return launch;
}

namespace {

TreeLaunch TreeWithLeaves(int leaves, std::int64_t groups, std::int64_t leaf_count) {
  constexpr int kNoTreeThreads = 256;
  constexpr int kTreeThreads = 512;
  TreeLaunch launch;
  launch.leaves = leaves;
  const std::int64_t y_needed = PowerOfTwoAtLeast(CeilDiv(leaf_count, leaves));
  if (y_needed == 1) {
    launch.threads_x = kNoTreeThreads;
    launch.threads_y = 1;
  } else {
    // At most a warp of outputs, so that threads y fold through shuffles and one row of shared memory a warp.
    launch.threads_x = static_cast<int>(std::min<std::int64_t>(PowerOfTwoAtLeast(groups), 32));
    launch.threads_y =
        static_cast<int>(std::min<std::int64_t>(y_needed, kTreeThreads / launch.threads_x));
    launch.threads_x = std::max(launch.threads_x, 32 / launch.threads_y);  // whole warps only
  }
  launch.blocks_x = CeilDiv(groups, launch.threads_x);
  launch.parts = CeilDiv(leaf_count, std::int64_t{leaves} * launch.threads_y);
  return launch;
}

}  // namespace

TreeLaunch PlanColumns(std::int64_t groups, std::int64_t leaf_count, const DeviceShape& device) {
  // Long runs a thread leave fewer partials; short ones keep all SMs busy.
  const TreeLaunch longer = TreeWithLeaves(8, groups, leaf_count);
  if (longer.blocks() >= 2LL * device.sm_count) return longer;
  return TreeWithLeaves(1, groups, leaf_count);
}

TreeLaunch PlanStates(std::int64_t groups, std::int64_t state_count) {
  // Every pass is a launch, so the fewest passes win: the shortest run that ends in this one.
  for (const int leaves : {1, 8}) {
    const TreeLaunch launch = TreeWithLeaves(leaves, groups, state_count);
    if (launch.parts == 1) return launch;
  }
  return TreeWithLeaves(32, groups, state_count);
}

}  // namespace warpfold::cuda
