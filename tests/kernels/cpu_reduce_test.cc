// The CPU backend against GMP, bit for bit, and
// against exact arithmetic.
#include "tests/kernels/cpu_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "kernels/tiles.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

using testing::Reduce;
using testing::Results;
using testing::Shuffled;

class CpuReduce : public ::testing::TestWithParam<DType> {};

TEST_P(CpuReduce, GivesTheExactResultsForAnyShapeAndAxes) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    std::mt19937_64 random(20260101);
    for (int i = 0; i < testing::Rounds(400); ++i) {
      testing::Case c = testing::RandomCase(GetParam(), i % 20 == 0 ? 300000 : 20000, random);
      const absl::StatusOr<Plan> plan = MakePlan(c.spec);
      ASSERT_TRUE(plan.ok()) << plan.status() << c.ToString();
      std::vector<T> data =
          testing::RandomElements<T>(static_cast<std::size_t>(plan->element_count), random);
      if constexpr (kIsFloat<T>) {
        if (i % 7 == 0) data[random() % data.size()] = testing::ElementOf<T>(HUGE_VAL);
        if (i % 11 == 0) data[random() % data.size()] = testing::ElementOf<T>(std::nan(""));
      }
      if (c.spec.nan_policy == NanPolicy::kOmit) testing::StrewNan(data, random);
      const Results results = Reduce(*plan, data.data(), Shuffled(i));
      const std::vector<std::string> expected = testing::ExpectedResults<T>(c.spec, data);
      for (std::size_t op = 0; op < expected.size(); ++op) {
        ASSERT_TRUE(results.bytes[op] == expected[op])
            << "case " << i << ": " << c.ToString() << ", " << Name(c.spec.ops[op]);
      }
    }
  });
}

TEST_P(CpuReduce, GivesEachOpTheSameBitsAloneAsFused) {
  VisitDType(GetParam(), [](auto tag) {
    using T = typename decltype(tag)::type;
    std::mt19937_64 random(7);
    const std::vector<T> data = testing::RandomElements<T>(50000, random);
    ReduceSpec spec{.dtype = GetParam(),
                    .shape = {50, 1000},
                    .ops = {Op::kMin, Op::kMax, Op::kMean},
                    .axes = {0}};
    const Results fused = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
      ReduceSpec alone = spec;
      alone.ops = {spec.ops[i]};
      EXPECT_TRUE(Reduce(*MakePlan(alone), data.data(), cpu::Serial).bytes[0] == fused.bytes[i])
          << Name(spec.ops[i]);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, CpuReduce, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

// |error| <= depth * 2^-53 * sum|x| for a summation tree of that depth (Higham, Accuracy and
// Stability, 4.2), then one rounding of the result. The depth of an element in a row of n: 8
// additions in its column, log2 of the columns and of the tiles.
TEST(CpuReduceOverflow, ReportsTheLowestOutputAndTheExactSum) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  // Rows: fits, overflows, overflows more, fits.
  const std::vector<std::int64_t> data = {big, 0, big, 3, big, big, -big, big};
  const ReduceSpec spec{.dtype = DType::kI64, .shape = {4, 2}, .ops = {Op::kSum}, .axes = {1}};
  const Results results = Reduce(*MakePlan(spec), data.data(), Shuffled(3));
  EXPECT_EQ(results.overflow.output_index, 1);
  EXPECT_EQ(results.overflow.high, 0);
  EXPECT_EQ(results.overflow.low, static_cast<std::uint64_t>(big) + 3);
}

TEST(CpuReduceOverflow, ReportsTheLowestOfManyOutputs) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kOutputs = 171;
  for (const std::int64_t lowest : {0, 7, 8, 13, 39, 63, 64, 127, 128, 135, 170}) {
    for (const bool is_rows : {false, true}) {
      std::vector<std::int64_t> data(2 * kOutputs, 1);
      for (std::int64_t o = lowest; o < kOutputs; o += 3) {
        const std::int64_t first = is_rows ? 2 * o : o;
        data[static_cast<std::size_t>(first)] = big;
        data[static_cast<std::size_t>(first + (is_rows ? 1 : kOutputs))] = 1 + o;
      }
      const std::vector<std::int64_t> shape =
          is_rows ? std::vector<std::int64_t>{kOutputs, 2} : std::vector<std::int64_t>{2, kOutputs};
      const ReduceSpec spec{
          .dtype = DType::kI64, .shape = shape, .ops = {Op::kSum}, .axes = {is_rows ? 1 : 0}};
      const Results results = Reduce(*MakePlan(spec), data.data(), Shuffled(5));
      EXPECT_EQ(results.overflow.output_index, lowest) << "rows: " << is_rows;
      EXPECT_EQ(results.overflow.high, 0);
      EXPECT_EQ(results.overflow.low,
                static_cast<std::uint64_t>(big) + 1 + static_cast<std::uint64_t>(lowest));
    }
  }
}

// What elements add up in is as narrow as a tile allows; no fold may leave more to it.
TEST(CpuReduceOverflow, NarrowIntegersAddUpWithoutWrapping) {
  const auto sums = [](auto largest, DType dtype, std::vector<std::int64_t> shape) {
    const ReduceSpec spec{
        .dtype = dtype, .shape = shape, .ops = {Op::kSum, Op::kL1Norm}, .axes = {0}};
    const Plan plan = *MakePlan(spec);
    const std::vector<decltype(largest)> data(static_cast<std::size_t>(plan.element_count),
                                              largest);
    const Results results = Reduce(plan, data.data(), cpu::Serial);
    const std::int64_t sum = static_cast<std::int64_t>(largest) * shape[0];
    std::string expected[2];
    for (std::int64_t o = 0; o < plan.output_count; ++o) {
      expected[0] += testing::BytesOf<std::int64_t>(sum);
      expected[1] += testing::BytesOf<double>(std::fabs(static_cast<double>(sum)));
    }
    EXPECT_EQ(results.bytes[0], expected[0]) << Name(dtype) << " inner " << plan.output_count;
    EXPECT_EQ(results.bytes[1], expected[1]) << Name(dtype) << " inner " << plan.output_count;
  };
  for (const std::int64_t inner : {1, 2, 7, 600}) {
    const std::vector<std::int64_t> shape = {3 << 18, inner};
    sums(std::uint8_t{255}, DType::kU8, shape);
    sums(std::int16_t{-32768}, DType::kI16, shape);
    sums(std::uint16_t{65535}, DType::kU16, shape);
  }
}

TEST(CpuReduceOverflow, DoesNotReportSumsAtTheEdgeOfInt64) {
  const std::vector<std::int64_t> data = {std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int64_t>::min() + 1,
                                          std::numeric_limits<std::int64_t>::min()};
  const ReduceSpec spec{.dtype = DType::kI64, .shape = {3}, .ops = {Op::kSum}};
  const Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
  EXPECT_EQ(results.overflow.output_index, Overflow::kNone);
}

std::string ProductBytes(const std::vector<std::int64_t>& data, Overflow* overflow) {
  const ReduceSpec spec{
      .dtype = DType::kI64, .shape = {static_cast<std::int64_t>(data.size())}, .ops = {Op::kProd}};
  Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
  *overflow = results.overflow;
  return results.bytes[0];
}

TEST(CpuReduceProduct, IsExactOrReported) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  Overflow overflow;
  EXPECT_EQ(ProductBytes({3, -5, 7}, &overflow), testing::BytesOf<std::int64_t>(-105));
  EXPECT_EQ(ProductBytes({std::int64_t{1} << 62, -2}, &overflow),
            testing::BytesOf<std::int64_t>(kLowest));
  EXPECT_EQ(ProductBytes({kLowest, 1}, &overflow), testing::BytesOf<std::int64_t>(kLowest));
  // A partial product that does not fit hides nothing and spoils nothing: 0 is 0.
  EXPECT_EQ(ProductBytes({kLowest, kLowest, kLowest, 0}, &overflow),
            testing::BytesOf<std::int64_t>(0));
  EXPECT_EQ(overflow.output_index, Overflow::kNone);
  for (const std::vector<std::int64_t>& data : std::vector<std::vector<std::int64_t>>{
           {kLowest, -1}, {std::int64_t{1} << 62, 2}, {kLowest, kLowest, 4}}) {
    ProductBytes(data, &overflow);
    EXPECT_EQ(overflow.output_index, 0);
    EXPECT_EQ(overflow.op, Op::kProd);
  }
}

// A mean of 1e19 with deviations of about 1e12, and one of 1e6 with deviations of 1e-3, where
// E[x^2] - E[x]^2 has no digit left.
TEST(CpuReduceVariance, KeepsTheDigitsThatTheElementsHave) {
  std::mt19937_64 random(8);
  for (const auto& [mean, step] : {std::pair{1e19, 1e12}, std::pair{1e6, 1e-3}}) {
    std::vector<double> data(100000);
    for (double& x : data) x = mean + step * static_cast<double>(random() % 1000);
    reference::Quad sum = 0, squares = 0;
    for (const double x : data) sum += x;
    const reference::Quad exact_mean = sum / static_cast<reference::Quad>(data.size());
    for (const double x : data) squares += (x - exact_mean) * (x - exact_mean);
    const ReduceSpec spec{.dtype = DType::kF64, .shape = {100000}, .ops = {Op::kVar}};
    const Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
    double variance;
    std::memcpy(&variance, results.bytes[0].data(), sizeof(variance));
    const double exact = static_cast<double>(squares / static_cast<reference::Quad>(data.size()));
    // Deviations lose what rounding at the mean's magnitude takes: mean * 2^-53 a step.
    EXPECT_NEAR(variance / exact, 1.0, 64 * 0x1p-53 * mean / std::sqrt(exact)) << mean;
  }
}

// Elements that do not fit in float64, and 16-bit extremes, against exact arithmetic.
TEST(CpuReduceVariance, IsRightForTheLargestIntegers) {
  const auto variance = [](auto first, auto second, DType dtype) {
    using T = decltype(first);
    std::vector<T> data(30000, first);
    for (std::size_t i = 0; i < data.size(); i += 3) data[i] = second;
    const ReduceSpec spec{.dtype = dtype, .shape = {30000}, .ops = {Op::kVar}};
    const Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
    double value;
    std::memcpy(&value, results.bytes[0].data(), sizeof(value));
    const double apart = static_cast<double>(static_cast<reference::Quad>(first) -
                                             static_cast<reference::Quad>(second));
    EXPECT_NEAR(value / (apart * apart * 2 / 9), 1.0, 16 * 0x1p-53) << Name(dtype);
  };
  variance(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
           DType::kI64);
  variance(std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}, DType::kU64);
  variance(std::uint16_t{65535}, std::uint16_t{0}, DType::kU16);
  variance(std::int8_t{-128}, std::int8_t{127}, DType::kI8);
}

// NumPy's answers at the edges of the divisor.
TEST(CpuReduceVariance, DividesByCountLessCorrection) {
  const std::vector<double> data = {1.0, 2.0, 4.0};
  const auto variance = [&](double correction) {
    const ReduceSpec spec{
        .dtype = DType::kF64, .shape = {3}, .ops = {Op::kVar}, .correction = correction};
    const Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
    double value;
    std::memcpy(&value, results.bytes[0].data(), sizeof(value));
    return value;
  };
  EXPECT_DOUBLE_EQ(variance(0), 14.0 / 9);
  EXPECT_DOUBLE_EQ(variance(1), 7.0 / 3);
  EXPECT_DOUBLE_EQ(variance(-1), 14.0 / 12);
  EXPECT_DOUBLE_EQ(variance(0.5), 14.0 / 7.5);
  EXPECT_DOUBLE_EQ(variance(2.75), 14.0 / 0.75);
  EXPECT_EQ(variance(3), HUGE_VAL);
  EXPECT_EQ(variance(4), HUGE_VAL);
}

TEST(CpuReduceZeros, KeepsTheSignOfASumOfNegativeZeros) {
  for (const std::int64_t n : {1, 3, 100, 5000}) {
    const std::vector<float> data(static_cast<std::size_t>(n), -0.0f);
    const ReduceSpec spec{.dtype = DType::kF32, .shape = {n}, .ops = {Op::kSum}};
    const Results results = Reduce(*MakePlan(spec), data.data(), cpu::Serial);
    EXPECT_EQ(results.bytes[0], std::string("\0\0\0\x80", 4)) << n;
  }
}

// States pushed one after another give the bits of the tree over all of them, for any number.
}  // namespace
}  // namespace warpfold
