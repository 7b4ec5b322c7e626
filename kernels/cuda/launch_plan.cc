#include "kernels/cuda/launch_plan.h"

#include <algorithm>
#include <bit>

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
  launch.lanes_log2 = CeilLog2(CeilDiv(row_elements, vector_elements));
  const std::int64_t rows_per_block = std::int64_t{kShortRowThreads >> launch.lanes_log2} * batch;
  launch.blocks = CeilDiv(rows, rows_per_block);
  return launch;
}

RowLaunch PlanRows(std::int64_t rows, std::int64_t row_tiles, const RowWarps& warps,
                   const DeviceShape& device) {
  RowLaunch launch;
  // Large blocks leave few partials for the second pass; small blocks spread a small tensor over
  // all SMs. Halve until there are two blocks for every SM. A block of 4 warps is the least: below
  // it the partials cost more than the idle SMs.
  launch.warps = warps.max;
  while (launch.warps > warps.min && rows * row_tiles < 2LL * device.sm_count * launch.warps) {
    launch.warps /= 2;
  }
  // A tensor of one block needs no second pass: one launch beats two by about 1 us.
  if (rows == 1 && row_tiles <= warps.max) {
    launch.warps =
        static_cast<int>(std::max<std::int64_t>(warps.min, PowerOfTwoAtLeast(row_tiles)));
  }
  launch.warps_per_row_log2 = CeilLog2(std::min<std::int64_t>(row_tiles, launch.warps));
  launch.blocks_per_row = CeilDiv(row_tiles, launch.warps);
  const std::int64_t rows_per_block = launch.warps >> launch.warps_per_row_log2;
  launch.blocks = CeilDiv(rows, rows_per_block) * launch.blocks_per_row;
  return launch;
}

namespace {

TreeLaunch TreeWithLeaves(int leaves, std::int64_t groups, std::int64_t leaf_count) {
  constexpr std::int64_t kNoTreeThreads = 256;
  constexpr std::int64_t kTreeThreads = 512;
  TreeLaunch launch;
  launch.leaves = leaves;
  const std::int64_t y_needed = PowerOfTwoAtLeast(CeilDiv(leaf_count, leaves));
  std::int64_t threads_x = kNoTreeThreads;
  launch.threads_y = 1;
  if (y_needed > 1) {
    // At most a warp of outputs, so that threads y fold through shuffles and one row of shared
    // memory a warp.
    threads_x = std::min<std::int64_t>(PowerOfTwoAtLeast(groups), 32);
    launch.threads_y = static_cast<int>(std::min(y_needed, kTreeThreads / threads_x));
    threads_x = std::max<std::int64_t>(threads_x, 32 / launch.threads_y);  // whole warps only
  }
  launch.threads_x_log2 = CeilLog2(threads_x);
  launch.blocks_x = CeilDiv(groups, threads_x);
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

PartialOrder OrderForStates(std::int64_t groups, std::int64_t state_count) {
  const TreeLaunch launch = PlanStates(groups, state_count);
  return {std::countr_zero(static_cast<unsigned>(launch.leaves)), launch.parts * launch.threads_y};
}

}  // namespace warpfold::cuda
