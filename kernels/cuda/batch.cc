#include "kernels/cuda/batch.h"

#include <algorithm>

namespace warpfold::cuda {

BatchLaunch PlanBatch(DType dtype, std::span<BatchItem> items) {
  const std::int64_t tile_elements = static_cast<std::int64_t>(kTileBytes / ElementBytes(dtype));
  BatchLaunch launch;
  auto begin = items.begin();
  std::uint32_t blocks = 0;
  for (int size = 0; size < BatchLaunch::kSizes; ++size) {
    // More tiles than half as many warps fold at once.
    const std::int64_t half = (kBatchWarps >> size) / 2;
    const auto end = std::partition(begin, items.end(), [&](const BatchItem& item) {
      return item.count > half * tile_elements;
    });
    blocks += static_cast<std::uint32_t>(CeilDiv(end - begin, std::int64_t{1} << size));
    launch.items_end[size] = static_cast<std::uint32_t>(end - items.begin());
    launch.blocks_end[size] = blocks;
    begin = end;
  }
  return launch;
}

}  // namespace warpfold::cuda
