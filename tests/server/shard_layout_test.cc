#include "server/core/tensors/shard_layout.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/part.h"

namespace warpfold {
namespace {

using Ends = std::vector<std::int64_t>;

TensorShape Shape(DType dtype, std::vector<std::int64_t> lengths) {
  std::int64_t bytes = static_cast<std::int64_t>(ElementBytes(dtype));
  for (const std::int64_t length : lengths) bytes *= length;
  return {dtype, std::move(lengths), bytes};
}

TEST(ShardLayoutTest, PowersOfTwoAreHalvesAndQuarters) {
  const TensorShape flat = Shape(DType::kF32, {std::int64_t{1} << 32});
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(ShardEnds(flat, 1), (Ends{16 * kGiB}));
  EXPECT_EQ(ShardEnds(flat, 2), (Ends{8 * kGiB, 16 * kGiB}));
  EXPECT_EQ(ShardEnds(flat, 4), (Ends{4 * kGiB, 8 * kGiB, 12 * kGiB, 16 * kGiB}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {1, 32, 1 << 20}), 4),
            (Ends{32 << 20, 64 << 20, 96 << 20, 128 << 20}));
}

TEST(ShardLayoutTest, WhatHasTooFewPlacesForACutIsLaidOverFewerDevices) {
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {}), 4), (Ends{4}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {0, 5}), 4), (Ends{0}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {1, 1}), 4), (Ends{4}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {3, 1 << 20}), 4), (Ends{4 << 20, 8 << 20, 12 << 20}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {5, 1 << 20}), 4), (Ends{4 << 20, 12 << 20, 20 << 20}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF32, {7, 1 << 20}), 5),
            (Ends{4 << 20, 12 << 20, 20 << 20, 28 << 20}));
}

TEST(ShardLayoutTest, ShardsDifferByOneIndexAtMost) {
  EXPECT_EQ(ShardEnds(Shape(DType::kU8, {101, 3}), 4), (Ends{75, 150, 225, 303}));
  EXPECT_EQ(ShardEnds(Shape(DType::kF64, {1, 1'000'001}), 2), (Ends{4'000'000, 8'000'008}));
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  EXPECT_EQ(ShardEnds(Shape(DType::kU8, {kMost + 1}), 2), (Ends{kMost / 2, kMost + 1}));
}

// Of every reduction a shard is whole planes, or a range of its run.
TEST(ShardLayoutTest, EveryReductionMayBeCutThere) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1'000'000'007},      {1, 123456789, 1}, {70'000, 1000}, {99'999, 3, 128},
      {640, 2, 1000, 1024}, {3 << 20, 17},     {512, 512, 512}};
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    for (const std::vector<std::int64_t>& lengths : shapes) {
      const TensorShape shape = Shape(dtype, lengths);
      const std::int64_t rows = lengths[0] == 1 ? lengths[1] : lengths[0];
      const std::int64_t row_bytes = shape.size_bytes / rows;
      for (std::size_t count = 2; count <= 8; ++count) {
        const Ends ends = ShardEnds(shape, count);
        ASSERT_EQ(ends.size(), count);
        EXPECT_EQ(ends.back(), shape.size_bytes);
        for (unsigned axes = 1; axes < 1U << lengths.size(); ++axes) {
          ReduceSpec spec{.dtype = dtype, .shape = lengths, .ops = {Op::kVar}};
          for (std::size_t d = 0; d < lengths.size(); ++d) {
            if ((axes >> d & 1) != 0) spec.axes.push_back(static_cast<std::int64_t>(d));
          }
          const Plan plan = *MakePlan(spec);
          std::int64_t begin = 0;
          for (const std::int64_t end : ends) {
            EXPECT_LE(end - begin, shape.size_bytes / static_cast<std::int64_t>(count) + row_bytes);
            EXPECT_EQ(end % row_bytes, 0);
            begin = end;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace warpfold
