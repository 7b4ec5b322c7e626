// Launch shapes cover every element once, keep the blocks that CUDA allows, and fold aligned powers
// of two.
#include "kernels/cuda/launch_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <utility>
#include <vector>

#include "kernels/tiles.h"

namespace warpfold::cuda {
namespace {

constexpr std::int64_t kSizes[] = {1,    2,    3,    7,       8,         9,
                                   31,   32,   33,   511,     512,       513,
                                   4095, 4096, 4097, 1 << 20, 123456789, std::int64_t{1} << 33};

bool IsPowerOfTwo(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

void ExpectSoundRows(const RowLaunch& launch, std::int64_t rows, std::int64_t row_tiles,
                     const BlockTiles& choice) {
  EXPECT_TRUE(IsPowerOfTwo(launch.tiles));
  EXPECT_GE(launch.tiles, choice.small);
  EXPECT_LE(launch.tiles, choice.large);
  if (launch.blocks_per_row == 1) {
    EXPECT_GE(1 << launch.tiles_per_row_log2, row_tiles);
    EXPECT_GE(launch.blocks * (launch.tiles >> launch.tiles_per_row_log2), rows);
  } else {
    EXPECT_EQ(1 << launch.tiles_per_row_log2, launch.tiles);
    EXPECT_EQ(launch.blocks_per_row, CeilDiv(row_tiles, launch.tiles));
    EXPECT_EQ(launch.blocks, rows * launch.blocks_per_row);
  }
}

TEST(PlanRows, CoversEveryTileOnceWithAlignedParts) {
  for (const int sms : {1, 20, 132}) {
    const DeviceShape device = {.sm_count = sms};
    for (const std::int64_t rows : kSizes) {
      for (const std::int64_t tiles : kSizes) {
        if (rows > (std::int64_t{1} << 40) / tiles) continue;
        for (const BlockTiles& choice : {kTileAWarp, kUnalignedTiles}) {
          ExpectSoundRows(PlanRows(rows, tiles, choice, device), rows, tiles, choice);
        }
        for (const int overhead : {2, 7}) {
          ExpectSoundRows(PlanPipelinedRows(rows, tiles, overhead, device), rows, tiles,
                          kPipelinedTiles);
        }
      }
    }
  }
}

TEST(PlanRows, GivesARowOneBlockWhereItHasRoom) {
  const DeviceShape h200 = {.sm_count = 132};
  EXPECT_EQ(PlanRows(64, 16, kTileAWarp, h200).blocks_per_row, 1);
  EXPECT_EQ(PlanRows(64, 16, kTileAWarp, h200).tiles, 16);
  EXPECT_EQ(PlanRows(64, 4, kTileAWarp, h200).tiles, 4);
  EXPECT_EQ(PlanRows(1, 17, kTileAWarp, h200).tiles, 4);
}

TEST(PlanRows, TakesLargeBlocksWhereMostSmsGetOne) {
  const DeviceShape h200 = {.sm_count = 132};
  EXPECT_EQ(PlanRows(1, 1 << 10, kTileAWarp, h200).tiles, 4);
  EXPECT_EQ(PlanRows(1, 1 << 11, kTileAWarp, h200).tiles, 16);
  EXPECT_EQ(PlanRows(1 << 7, 1 << 4, kTileAWarp, h200).tiles, 16);
}

TEST(PlanPipelinedRows, TakesLargeBlocksOnlyWhereTheyFillTheDevice) {
  const DeviceShape h200 = {.sm_count = 132};
  EXPECT_EQ(PlanPipelinedRows(1, 1 << 10, 7, h200).tiles, 4);
  EXPECT_EQ(PlanPipelinedRows(1, 1 << 12, 7, h200).tiles, 16);
  EXPECT_EQ(PlanPipelinedRows(1, 9000, 7, h200).tiles, 16);  // half of 32's would have no block
  EXPECT_EQ(PlanPipelinedRows(1, 1 << 14, 7, h200).tiles, 32);
  EXPECT_EQ(PlanPipelinedRows(1, 1 << 18, 7, h200).tiles, 32);
  // Waves of whole blocks count where tiles take long.
  EXPECT_EQ(PlanPipelinedRows(1, 1 << 16, 2, h200).tiles, 16);
}

// The shape of GpuKernelsTest.FindsTheExtremaOfEachRowOfABlock.
TEST(PlanPipelinedRows, GivesABlockSeveralRowsWhereThereAreMany) {
  for (const int sms : {1, 132}) {
    for (const int overhead : {2, 7}) {
      const RowLaunch launch = PlanPipelinedRows(257, 8, overhead, {.sm_count = sms});
      EXPECT_EQ(launch.tiles, 16);
      EXPECT_EQ(launch.tiles_per_row_log2, 3);
    }
  }
}

void ExpectSoundTree(const TreeLaunch& launch, std::int64_t groups, std::int64_t leaves) {
  EXPECT_LE(launch.threads(), 512);
  EXPECT_EQ(launch.threads() % 32, 0);
  EXPECT_TRUE(IsPowerOfTwo(launch.threads_y));
  EXPECT_TRUE(launch.threads_y == 1 || launch.threads_x_log2 <= 5);
  EXPECT_GE(launch.blocks_x << launch.threads_x_log2, groups);
  EXPECT_GE(launch.parts * launch.threads_y * launch.leaves, leaves);
  EXPECT_LT((launch.parts - 1) * launch.threads_y * launch.leaves, leaves);
}

TEST(PlanColumns, CoversEveryLeafOnce) {
  for (const std::int64_t outputs : kSizes) {
    for (const std::int64_t leaves : kSizes) {
      for (const ColumnLoop loop : {ColumnLoop::kPlain, ColumnLoop::kPipelined,
                                    ColumnLoop::kWidePipelined, ColumnLoop::kComputeBound}) {
        for (const int vector : {1, 4}) {
          const TreeLaunch launch = PlanColumns(outputs * vector, vector, leaves, loop, {});
          ExpectSoundTree(launch, outputs * vector / launch.vector, leaves);
          EXPECT_LE(launch.threads(), kColumnThreads);
          EXPECT_TRUE(launch.leaves == kPipelinedLeaves || !launch.is_pipelined);
        }
      }
    }
  }
}

constexpr ColumnLoop kLightLoops[] = {ColumnLoop::kPlain, ColumnLoop::kPipelined,
                                      ColumnLoop::kWidePipelined};

TEST(PlanColumns, ReadsVectorsAndFillsTheGpuWhereThereAreManyElements) {
  const DeviceShape h200 = {.sm_count = 132};
  for (const ColumnLoop loop : kLightLoops) {
    const int vector = loop == ColumnLoop::kWidePipelined ? 2 : 4;
    for (int log2_outputs = 5; log2_outputs <= 20; ++log2_outputs) {
      // 2^25 elements.
      const TreeLaunch launch = PlanColumns(std::int64_t{1} << log2_outputs, vector,
                                            std::int64_t{1} << (22 - log2_outputs), loop, h200);
      const std::int64_t threads = launch.blocks() * launch.threads();
      EXPECT_TRUE(launch.vector == vector || threads >= 132 * 512)
          << "2^" << log2_outputs << " columns";
      EXPECT_GE(threads, 132 * 64) << "2^" << log2_outputs << " columns";
    }
  }
}

TEST(PlanColumns, FoldsFewElementsInOnePass) {
  for (const ColumnLoop loop : kLightLoops) {
    for (const std::int64_t leaves : {1, 2, 8, 16, 32}) {
      EXPECT_EQ(PlanColumns(32, 4, leaves, loop, {.sm_count = 132}).parts, 1) << leaves;
    }
  }
}

TEST(PlanColumns, PipelinesNothingButVectors) {
  for (const std::int64_t outputs : kSizes) {
    for (const std::int64_t leaves : kSizes) {
      EXPECT_FALSE(PlanColumns(outputs, 1, leaves, ColumnLoop::kPipelined, {}).is_pipelined);
      for (const ColumnLoop loop : {ColumnLoop::kPlain, ColumnLoop::kComputeBound}) {
        EXPECT_FALSE(PlanColumns(4 * outputs, 4, leaves, loop, {}).is_pipelined);
      }
    }
  }
}

// Shapes of GpuKernelsTest.GivesTheCpusBitsOnAnyShapeAndAlignment that are for this.
TEST(PlanColumns, PipelinesColumnsThatTheGpuTestsHave) {
  const auto is_pipelined = [](std::int64_t count, std::int64_t outputs, int vector) {
    return PlanColumns(outputs, vector, CeilDiv(count, kLeafRows),
                       vector == 2 ? ColumnLoop::kWidePipelined : ColumnLoop::kPipelined,
                       {.sm_count = 1})
        .is_pipelined;
  };
  EXPECT_TRUE(is_pipelined(1100, 256, 4));
  EXPECT_TRUE(is_pipelined(500, 4096, 4));
  EXPECT_TRUE(is_pipelined(300, 1000, 4));
  EXPECT_TRUE(is_pipelined(400, 64, 2));
  EXPECT_TRUE(is_pipelined(500, 40, 2));
}

TEST(PlanColumns, TakesSeveralColumnsAThreadOfOneLeaf) {
  const DeviceShape h200 = {.sm_count = 132};
  EXPECT_EQ(PlanColumns(1 << 24, 4, 1, ColumnLoop::kPlain, h200).vector, 4);
  EXPECT_EQ(PlanColumns(1 << 24, 4, 1, ColumnLoop::kPlain, h200).leaves, 1);
}

TEST(PlanColumns, TakesNoMoreLeavesAThreadThanAColumnHas) {
  const DeviceShape h200 = {.sm_count = 132};
  EXPECT_EQ(PlanColumns(1 << 24, 4, 2, ColumnLoop::kPlain, h200).leaves, 2);
  EXPECT_EQ(PlanColumns(1 << 24, 4, 7, ColumnLoop::kPlain, h200).leaves, 8);
  EXPECT_EQ(PlanColumns(1 << 24, 1, 2, ColumnLoop::kComputeBound, h200).leaves, 2);
}

class PlanStatesOf : public ::testing::TestWithParam<bool> {
 protected:
  const bool has_many_accumulators_ = GetParam();
};

TEST_P(PlanStatesOf, CoversEveryStateOnceAndEnds) {
  for (const std::int64_t groups : kSizes) {
    for (const std::int64_t states : kSizes) {
      std::int64_t left = states;
      int passes = 0;
      do {
        const TreeLaunch launch = PlanStates(groups, left, has_many_accumulators_);
        ExpectSoundTree(launch, groups, left);
        left = launch.parts;
        ++passes;
      } while (left > 1);
      EXPECT_LE(passes, 6) << groups << " outputs, " << states << " states";
    }
  }
}

TEST_P(PlanStatesOf, GivesEveryPartialItsOwnSlot) {
  for (const std::int64_t groups : {1, 5, 40}) {
    for (const std::int64_t states : {1, 31, 512, 513, 4096, 4097, 70001}) {
      const PartialOrder order = OrderForStates(groups, states, has_many_accumulators_);
      std::vector<bool> taken(static_cast<std::size_t>(order.Slots(states)), false);
      for (std::int64_t i = 0; i < states; ++i) {
        ASSERT_LT(order.Slot(i), order.Slots(states));
        ASSERT_FALSE(taken[static_cast<std::size_t>(order.Slot(i))]);
        taken[static_cast<std::size_t>(order.Slot(i))] = true;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FewAndManyAccumulators, PlanStatesOf, ::testing::Bool());

TEST(PlanStates, GivesAThreadTwoLargeStatesOfALongRowAtMost) {
  EXPECT_EQ(PlanStates(1, 512, true).leaves, 1);
  EXPECT_EQ(PlanStates(1, 1024, true).leaves, 2);
  EXPECT_EQ(PlanStates(1, 1024, true).parts, 1);
  EXPECT_EQ(PlanStates(1, 2048, true).leaves, 1);
  EXPECT_EQ(PlanStates(1, 2048, true).parts, 4);
  EXPECT_EQ(PlanStates(1, 2048, false).parts, 1);
}

constexpr ShortRowCandidates kLightCandidates = {{8, 4, 2, 1}, 4, 4};
constexpr ShortRowCandidates kComputeBoundCandidates = {{4, 1}, 2, 1};
constexpr ShortRowCandidates kCheapCandidates = {{1, 2, 4}, 3, 4};

TEST(PlanShortRows, CoversEveryVectorOfEveryRow) {
  for (const std::int64_t rows : kSizes) {
    for (const int vectors : {1, 2, 3, 4, 5, 31, 32, 33, 127, 128}) {
      for (const ShortRowCandidates& candidates :
           {kLightCandidates, kComputeBoundCandidates, kCheapCandidates}) {
        for (const int block_rows_max : {kShortRowThreads / 2, 4 * kShortRowThreads}) {
          const ShortRowLaunch launch =
              PlanShortRows(rows, vectors, candidates, block_rows_max, {});
          EXPECT_LE(launch.threads_log2, 5);
          EXPECT_GE(launch.thread_vectors << launch.threads_log2, vectors);
          const int block_rows = (kShortRowThreads >> launch.threads_log2) *
                                 candidates.RowsAtOnce(launch.thread_vectors) * launch.steps;
          EXPECT_LE(block_rows, block_rows_max);
          EXPECT_TRUE(IsPowerOfTwo(block_rows));
          EXPECT_GE(launch.blocks * block_rows, rows);
          EXPECT_LT((launch.blocks - 1) * block_rows, rows);
        }
      }
    }
  }
}

TEST(PlanShortRows, ReadsWholeSectorsAndSpreadsFewRowsOverTheDevice) {
  const DeviceShape h200 = {.sm_count = 132};
  const auto vectors_of = [&](std::int64_t rows, std::int64_t row_vectors) {
    return PlanShortRows(rows, row_vectors, kLightCandidates, 4 * kShortRowThreads, h200)
        .thread_vectors;
  };
  EXPECT_EQ(vectors_of(1 << 20, 1), 1);
  EXPECT_EQ(vectors_of(1 << 20, 2), 2);
  EXPECT_EQ(vectors_of(1 << 20, 4), 4);
  EXPECT_EQ(vectors_of(1 << 20, 8), 4);
  EXPECT_EQ(vectors_of(1 << 20, 16), 8);
  EXPECT_EQ(vectors_of(1 << 20, 128), 8);
  EXPECT_LT(vectors_of(256, 16), 8);
}

}  // namespace
}  // namespace warpfold::cuda
