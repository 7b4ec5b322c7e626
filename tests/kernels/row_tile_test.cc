// Row tiles have loops of their own on the CPU: of any length, with anything in them, and wherever
// they start, they give the exact results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/tiles.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/op_lists.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

class RowTiles : public ::testing::TestWithParam<DType> {};

// Every op by which tiles are told apart; PROD of integers has its own test.
std::vector<Op> OpsOf(DType dtype) {
  std::vector<Op> ops = testing::AllOps();
  if (!IsFloat(dtype)) std::erase(ops, Op::kProd);
  return ops;
}

// `data` from element `offset` on, reduced with as many ops at once as may be, and each alone.
template <typename T>
void ExpectExactResults(DType dtype, const std::vector<T>& data, std::size_t offset,
                        NanPolicy nan_policy, const std::string& what) {
  const std::vector<T> part(data.begin() + static_cast<std::ptrdiff_t>(offset), data.end());
  ReduceSpec spec{.dtype = dtype,
                  .shape = {static_cast<std::int64_t>(part.size())},
                  .ops = OpsOf(dtype),
                  .nan_policy = nan_policy};
  const std::vector<std::string> expected = testing::ExpectedResults<T>(spec, part);
  const std::vector<Op> ops = spec.ops;
  spec.ops.resize(std::min(ops.size(), static_cast<std::size_t>(kRequestOpsMax)));
  const testing::Results fused =
      testing::Reduce(*MakePlan(spec), data.data() + offset, cpu::Serial);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i < fused.bytes.size()) {
      EXPECT_EQ(fused.bytes[i], expected[i])
          << what << ": " << Name(ops[i]) << " of " << part.size() << " from " << offset;
    }
    spec.ops = {ops[i]};
    const testing::Results alone =
        testing::Reduce(*MakePlan(spec), data.data() + offset, cpu::Serial);
    EXPECT_EQ(alone.bytes[0], expected[i])
        << what << ": " << Name(ops[i]) << " alone, of " << part.size() << " from " << offset;
  }
}

// 1, 2 and 3 tiles, and a few elements more or less, from any element on.
template <typename T, typename Check>
void VisitLengths(std::mt19937_64& random, const Check& check) {
  for (const std::int64_t tiles : {1, 2, 3}) {
    for (const std::int64_t more : {-1, 0, 1, 17}) {
      const std::size_t offset = random() % 5;
      const std::int64_t count = tiles * kTileElements<T> + more;
      check(testing::RandomElements<T>(static_cast<std::size_t>(count) + offset, random), offset);
    }
  }
}

TEST_P(RowTiles, GiveTheExactResultsAtAnyAlignment) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    std::mt19937_64 random(31);
    VisitLengths<T>(random, [&](const std::vector<T>& data, std::size_t offset) {
      ExpectExactResults(GetParam(), data, offset, NanPolicy::kPropagate, "numbers");
    });
  });
}

// Rows of one tile that is not whole, and have fewer vectors, lanes and rows than a whole one.
TEST_P(RowTiles, GiveTheExactResultsAtAnyLength) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    std::mt19937_64 random(35);
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = 1; length <= 40; ++length) lengths.push_back(length);
    for (std::int64_t length = 48; length <= kTileElements<T>; length += length / 3) {
      for (const std::int64_t more : {-1, 0, 1}) lengths.push_back(length + more);
    }
    for (std::int64_t power = 64; power <= kTileElements<T>; power *= 2) {
      for (const std::int64_t more : {-1, 0, 1}) lengths.push_back(power + more);
    }
    for (const std::int64_t length : lengths) {
      const std::size_t offset = random() % 5;
      std::vector<T> data =
          testing::RandomElements<T>(static_cast<std::size_t>(length) + offset, random);
      ExpectExactResults(GetParam(), data, offset, NanPolicy::kPropagate, "numbers");
      if constexpr (kIsFloat<T>) {
        testing::StrewNan(data, random);
        ExpectExactResults(GetParam(), data, offset, NanPolicy::kOmit, "with NaN");
      }
    }
  });
}

// NaN of either sign, infinities, zeros and subnormals: one kind alone, and all among numbers.
TEST_P(RowTiles, KeepToTheRulesOfSpecialNumbers) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kIsFloat<T>) {
      std::mt19937_64 random(32);
      const std::vector<double> specials = {
          std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0,
          // The least number, of f16 and of the others that have it.
          sizeof(T) == 2 ? 0x1p-24 : 0x1p-149};
      VisitLengths<T>(random, [&](std::vector<T> data, std::size_t offset) {
        for (const NanPolicy policy : {NanPolicy::kPropagate, NanPolicy::kOmit}) {
          for (const double special : specials) {
            std::vector<T> one = data;
            one[random() % one.size()] = testing::ElementOf<T>(special);
            ExpectExactResults(GetParam(), one, offset, policy, std::to_string(special));
          }
          std::vector<T> many = data;
          for (T& x : many) {
            const std::uint64_t which = random() % (3 * specials.size());
            if (which < specials.size()) x = testing::ElementOf<T>(specials[which]);
          }
          ExpectExactResults(GetParam(), many, offset, policy, "all kinds");
        }
      });
    }
  });
}

// ARGMIN and ARGMAX: of equal elements the first, wherever it is in its tile.
TEST_P(RowTiles, FindTheFirstOfEqualElements) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    std::mt19937_64 random(33);
    for (int i = 0; i < testing::Rounds(40); ++i) {
      std::vector<T> data(static_cast<std::size_t>(2 * kTileElements<T> + 5),
                          testing::ElementOf<T>(1));
      for (int k = 0; k < 3; ++k) data[random() % data.size()] = testing::ElementOf<T>(0);
      ExpectExactResults(GetParam(), data, 0, NanPolicy::kPropagate, "ties");
    }
  });
}

// ARGMIN and ARGMAX look for places only in tiles that beat those before: the best one may come
// first, last or in between, be equal to others, or come after tiles without numbers.
TEST_P(RowTiles, FindThePlaceInWhicheverTileIsBest) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr std::int64_t kTiles = 11;
    std::mt19937_64 random(36);
    std::vector<T> rising, falling, peaks;
    for (std::int64_t i = 0; i < kTiles * kTileElements<T>; ++i) {
      const std::int64_t tile = i / kTileElements<T>;
      rising.push_back(testing::ElementOf<T>(static_cast<double>(tile)));
      falling.push_back(testing::ElementOf<T>(static_cast<double>(kTiles - tile)));
      peaks.push_back(testing::ElementOf<T>(static_cast<double>(tile % 4)));
    }
    for (std::vector<T>* data : {&rising, &falling, &peaks}) {
      ExpectExactResults(GetParam(), *data, 0, NanPolicy::kPropagate, "steps");
      if constexpr (kIsFloat<T>) {
        std::fill_n(data->begin(), 2 * kTileElements<T>, testing::ElementOf<T>(std::nan("")));
        ExpectExactResults(GetParam(), *data, 0, NanPolicy::kOmit, "after NaN");
        (*data)[random() % data->size()] = testing::ElementOf<T>(-std::nan(""));
        ExpectExactResults(GetParam(), *data, 0, NanPolicy::kPropagate, "with NaN");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, RowTiles, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Sums of 64-bit integers past what 64 bits hold on the way to a sum that fits.
TEST(RowTilesOfIntegers, SumsOfTheLargestAreExact) {
  const std::int64_t high = std::numeric_limits<std::int64_t>::max();
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> data;
  for (int i = 0; i < 512; ++i) data.push_back(i < 256 ? high : low);
  const ReduceSpec spec{
      .dtype = DType::kI64, .shape = {512}, .ops = {Op::kSum, Op::kL1Norm, Op::kMean}};
  const testing::Results results = testing::Reduce(*MakePlan(spec), data.data(), cpu::Serial);
  EXPECT_EQ(results.bytes[0], testing::BytesOf<std::int64_t>(-256));
  EXPECT_EQ(results.bytes[1], testing::BytesOf<double>(0x1p72));
  EXPECT_EQ(results.bytes[2], testing::BytesOf<double>(-0.5));
}

// The products of tiles of 1, with so many factors of `factor` in them.
template <typename T>
std::string ProductOfFactors(DType dtype, T factor, int factors, bool with_zero, bool* fits) {
  std::mt19937_64 random(34);
  std::vector<T> data(static_cast<std::size_t>(kTileElements<T>), T{1});
  for (int placed = 0; placed < factors;) {
    T& x = data[random() % data.size()];
    if (x != T{1}) continue;
    x = factor;
    ++placed;
  }
  if (with_zero) data[random() % data.size()] = T{0};
  const ReduceSpec spec{.dtype = dtype, .shape = {kTileElements<T>}, .ops = {Op::kProd}};
  testing::Results results = testing::Reduce(*MakePlan(spec), data.data(), cpu::Serial);
  *fits = results.overflow.output_index == Overflow::kNone;
  return results.bytes[0];
}

TEST(RowTilesOfIntegers, ProductsAreExactOrReported) {
  bool fits = false;
  EXPECT_EQ(ProductOfFactors<std::int8_t>(DType::kI8, 2, 62, false, &fits),
            testing::BytesOf<std::int64_t>(std::int64_t{1} << 62));
  EXPECT_TRUE(fits);
  EXPECT_EQ(ProductOfFactors<std::int8_t>(DType::kI8, -2, 63, false, &fits),
            testing::BytesOf<std::int64_t>(std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(fits);
  EXPECT_EQ(ProductOfFactors<std::int8_t>(DType::kI8, -1, 101, false, &fits),
            testing::BytesOf<std::int64_t>(-1));
  EXPECT_TRUE(fits);
  EXPECT_EQ(ProductOfFactors<std::uint8_t>(DType::kU8, 2, 63, false, &fits),
            testing::BytesOf<std::uint64_t>(std::uint64_t{1} << 63));
  EXPECT_TRUE(fits);
  for (const int factors : {64, 65, 500}) {
    ProductOfFactors<std::uint8_t>(DType::kU8, 2, factors, false, &fits);
    EXPECT_FALSE(fits) << factors;
    ProductOfFactors<std::int16_t>(DType::kI16, -2, factors, false, &fits);
    EXPECT_FALSE(fits) << factors;
    EXPECT_EQ(ProductOfFactors<std::int16_t>(DType::kI16, -2, factors, true, &fits),
              testing::BytesOf<std::int64_t>(0));
    EXPECT_TRUE(fits) << factors;
  }
}

}  // namespace
}  // namespace warpfold
