// A batch's launch gives every item of the table the warps that its tiles need, once.
#include "kernels/cuda/batch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/kernels/effort.h"

namespace warpfold::cuda {
namespace {

// Items of `counts` elements, told apart by their output index.
std::vector<BatchItem> ItemsOf(const std::vector<std::int64_t>& counts) {
  std::vector<BatchItem> items(counts.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].count = static_cast<std::int32_t>(counts[i]);
    items[i].output_index = static_cast<std::int32_t>(i);
  }
  return items;
}

void ExpectSoundBatch(DType dtype, const std::vector<std::int64_t>& counts) {
  const std::int64_t tile_elements = static_cast<std::int64_t>(kTileBytes / ElementBytes(dtype));
  std::vector<BatchItem> items = ItemsOf(counts);
  const BatchLaunch launch = PlanBatch(dtype, items);
  std::map<std::int32_t, int> warps_of;  // by output index
  for (std::uint32_t b = 0; b < launch.blocks(); ++b) {
    const BatchLaunch::Block block = launch.At(b);
    ASSERT_LT(block.first_item, block.items_end) << "a block without work";
    ASSERT_LE(block.items_end, items.size());
    for (int w = 0; w < kBatchWarps; ++w) {
      const std::uint32_t item =
          block.first_item + static_cast<std::uint32_t>(w / block.warps_per_item);
      if (item < block.items_end) ++warps_of[items[item].output_index];
    }
  }
  ASSERT_EQ(warps_of.size(), counts.size());
  for (const BatchItem& item : items) {
    ASSERT_EQ(item.count, counts[static_cast<std::size_t>(item.output_index)]);
    const std::int64_t tiles = CeilDiv(item.count, tile_elements);
    const int warps = warps_of[item.output_index];
    EXPECT_EQ(warps, std::min<std::int64_t>(PowerOfTwoAtLeast(tiles), kBatchWarps));
    EXPECT_LE(tiles, std::int64_t{warps} * kBatchTilesPerWarp);
  }
}

TEST(PlanBatch, GivesEveryItemItsWarpsOnce) {
  std::mt19937_64 random(7);
  for (const DType dtype : kAllDTypes) {
    const std::int64_t most = kBatchBytesMax / static_cast<std::int64_t>(ElementBytes(dtype));
    const std::int64_t tile = most / (kBatchWarps * kBatchTilesPerWarp);
    for (const std::int64_t count : {std::int64_t{1}, tile, tile + 1, 2 * tile, 2 * tile + 1,
                                     4 * tile, 4 * tile + 1, 8 * tile + 1, most}) {
      ExpectSoundBatch(dtype, {count});
    }
    for (int i = 0; i < testing::Rounds(20); ++i) {
      std::vector<std::int64_t> counts(1 + random() % 100);
      for (std::int64_t& count : counts) {
        count = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) %
                        (tile << random() % 8);
      }
      ExpectSoundBatch(dtype, counts);
    }
  }
}

}  // namespace
}  // namespace warpfold::cuda
