// Whole reductions by the CPU's exact engine against the oracle, on every SIMD width that this
// processor has: any shape, any axes, every op of every dtype, hard elements, tasks in any order.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/loop_table.h"  // which widths are compiled
#include "kernels/ops/catalogue.h"
// Which has to know.
#include "hwy/targets.h"
#include "kernels/plan.h"
#include "kernels/types.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/random_spec.h"
#include "tests/kernels/exact/reduction_oracle.h"
#include "tests/kernels/exact/result_dtype.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

using testing::Answer;
using testing::RandomSpec;
using testing::ToString;

class ExactCpuReduction : public ::testing::TestWithParam<DType> {
 protected:
  void TearDown() override { Choose(0); }

  // 0: what the processor would choose.
  static void Choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  // Whether the product behind an output lies so close to where results change that 128 bits of it
  // may not tell on which side.
  static bool MayBeRefused(const ReduceSpec& spec, const std::vector<char>& data,
                           std::int64_t output) {
    const testing::Format& format = testing::FormatOfFloat(spec.dtype);
    const std::size_t bytes = ElementBytes(spec.dtype);
    const std::vector<std::size_t> outputs = testing::OutputOfEachElement(spec.shape, spec.axes);
    mpq_class product = 1;
    long factors = 1;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != static_cast<std::size_t>(output)) continue;
      std::uint64_t bits = 0;
      std::memcpy(&bits, data.data() + i * bytes, bytes);
      const std::uint64_t size = bits & ~format.SignBit();
      if (format.IsNan(size) && spec.nan_policy == NanPolicy::kOmit) continue;
      if (format.IsNan(size) || format.IsInfinity(size) || size == 0) return false;
      product *= testing::NumberOf(size, format);
      ++factors;
    }
    const mpq_class error = product * testing::PowerOfTwo(-125) * factors;
    const testing::Format& result =
        testing::FormatOfFloat(testing::ExpectedResultDType(Op::kProd, spec.dtype));
    return testing::NearestBits(mpq_class(product - error), result) !=
           testing::NearestBits(mpq_class(product + error), result);
  }

  // What was reported: the lowest output of which an op does not fit, and there the last such op.
  static void ExpectOverflow(const ReduceSpec& spec, const std::vector<Answer>& answers,
                             const Overflow& overflow) {
    const Answer* lowest = nullptr;
    Op op = Op::kSum;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].op_overflow == Answer::kAllFit) continue;
      if (lowest != nullptr && answers[i].op_overflow > lowest->op_overflow) continue;
      lowest = &answers[i];
      op = spec.ops[i];
    }
    if (lowest == nullptr) {
      ASSERT_EQ(overflow.output_index, Overflow::kNone);
      return;
    }
    ASSERT_EQ(overflow.output_index, lowest->op_overflow);
    ASSERT_EQ(overflow.op, op);
    if (op != Op::kSum) return;
    mpz_class sum = static_cast<long>(overflow.high);
    sum = (sum << 64) + static_cast<unsigned long>(overflow.low);
    ASSERT_EQ(sum, lowest->overflow_value);
  }

  static void ExpectAnswers(const ReduceSpec& spec, const std::vector<char>& data,
                            const testing::Results& results) {
    const std::vector<Answer> answers = testing::ReductionAnswers(spec, data.data());
    const Overflow& overflow = results.overflow;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Answer& answer = answers[i];
      const std::size_t bytes = ElementBytes(ResultDType(spec.ops[i], spec.dtype));
      ASSERT_EQ(results.bytes[i].size(), answer.bytes.size());
      if (results.bytes[i] == answer.bytes) continue;
      for (std::size_t at = 0; at < answer.bytes.size(); at += bytes) {
        const std::string want = answer.bytes.substr(at, bytes);
        if (results.bytes[i].substr(at, bytes) == want) continue;
        // What does not fit, or may round either way, leaves anything.
        const auto output = static_cast<std::int64_t>(at / bytes);
        ASSERT_LE(overflow.output_index, output) << Name(spec.ops[i]);
        ASSERT_TRUE(IsFloat(spec.dtype)
                        ? spec.ops[i] == Op::kProd && MayBeRefused(spec, data, output)
                        : want == std::string(bytes, '\0'))
            << Name(spec.ops[i]) << " of output " << output;
      }
    }
    if (!IsFloat(spec.dtype)) {
      ExpectOverflow(spec, answers, overflow);
    } else if (overflow.output_index != Overflow::kNone) {
      ASSERT_EQ(overflow.op, Op::kProd);
      ASSERT_TRUE(MayBeRefused(spec, data, overflow.output_index));
    }
  }

  // On one SIMD width after another.
  static void ExpectAnswersOf(const ReduceSpec& spec, int number, std::mt19937_64& random) {
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const std::int64_t target = targets[static_cast<std::size_t>(number) % targets.size()];
    const auto plan = MakePlan(spec);
    ASSERT_TRUE(plan.ok()) << plan.status() << ToString(spec);
    const std::vector<char> data = testing::HardTensor(spec, random);
    Choose(target);
    const testing::Results results =
        testing::Reduce(*plan, data.data(), testing::Shuffled(static_cast<std::uint64_t>(number)));
    ExpectAnswers(spec, data, results);
    if (::testing::Test::HasFatalFailure()) {
      FAIL() << "case " << number << " on " << hwy::TargetName(target) << ": " << ToString(spec);
    }
  }

  // `count` reductions of up to `elements` elements.
  static void ExpectRandomReductions(DType dtype, int count, std::int64_t elements) {
    std::mt19937_64 random(20261126);
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      ExpectAnswersOf(RandomSpec(dtype, elements, random), i, random);
    }
  }
};

TEST_P(ExactCpuReduction, GivesTheOraclesBits) {
  ExpectRandomReductions(GetParam(), testing::Rounds(7000), 100);
}

TEST_P(ExactCpuReduction, GivesTheOraclesBitsOfMoreThanATile) {
  ExpectRandomReductions(GetParam(), testing::Rounds(150), 20'000);
}

// But of PROD, which takes the oracle minutes.
TEST_P(ExactCpuReduction, GivesTheOraclesBitsOfManyTasks) {
  std::mt19937_64 random(20261127);
  const std::vector<std::vector<std::int64_t>> shapes = {
      {150'000}, {2, 70'000}, {30'000, 5}, {2, 15'000, 4}, {1'100, 2, 40}};
  for (int i = 0; i < testing::Rounds(10) && !HasFatalFailure(); ++i) {
    const std::vector<std::int64_t>& shape = shapes[static_cast<std::size_t>(i) % shapes.size()];
    ReduceSpec spec{.dtype = GetParam(), .shape = shape, .correction = 1};
    spec.axes = {shape[0] == 2 ? 1 : 0};
    spec.nan_policy = i % 3 == 0 ? NanPolicy::kOmit : NanPolicy::kPropagate;
    spec.ops = testing::AnyOps(kRequestOpsMax, random);
    std::erase(spec.ops, Op::kProd);
    if (i % 2 == 1) spec.ops = {Op::kSum, Op::kMean};
    ExpectAnswersOf(spec, i, random);
  }
}

class ExactCpuSpecials : public ExactCpuReduction {};

// Of each output two, so far apart that they are met one after another: what one hides of the
// sums, the other may still change.
TEST_P(ExactCpuSpecials, AllOfAnOutputShow) {
  const DType dtype = GetParam();
  constexpr std::int64_t kCount = 40'000;
  const testing::Format& format = testing::FormatOfFloat(dtype);
  const std::uint64_t infinity = format.InfinityBits();
  const std::uint64_t specials[] = {infinity, infinity | format.SignBit(), format.NanBits()};
  constexpr std::size_t kPairs = 9;
  const std::size_t bytes = ElementBytes(dtype);
  for (const std::size_t second : {9'000, 20'000, 39'993}) {
    for (const bool are_columns : {false, true}) {
      ReduceSpec spec{.dtype = dtype, .shape = {kPairs, kCount}, .axes = {1}};
      if (are_columns) spec = {.dtype = dtype, .shape = {kCount, kPairs}, .axes = {0}};
      std::vector<char> data(kPairs * kCount * bytes, 0);
      for (std::size_t pair = 0; pair < kPairs; ++pair) {
        const auto put = [&](std::size_t at, std::uint64_t bits) {
          const std::size_t index = are_columns ? at * kPairs + pair : pair * kCount + at;
          std::memcpy(data.data() + index * bytes, &bits, bytes);
        };
        put(3, specials[pair / 3]);
        put(second, specials[pair % 3]);
      }
      for (const std::vector<Op>& ops : {std::vector<Op>{Op::kSum, Op::kMean},
                                         std::vector<Op>{Op::kSum, Op::kL1Norm, Op::kVar}}) {
        spec.ops = ops;
        ExpectAnswers(spec, data, testing::Reduce(*MakePlan(spec), data.data(), cpu::Serial));
        if (HasFatalFailure()) FAIL() << ToString(spec) << ", the second one at " << second;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, ExactCpuSpecials, ::testing::ValuesIn(testing::kFloatDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Three factors whose product lies 2^-157 below a tie; 128 bits of it end before.
TEST(ExactCpuProduct, WhatMayRoundEitherWayIsReportedForTheLowestOutput) {
  constexpr double kAbove = 1 + 0x1p-52;
  constexpr double kBelow = 1 - 0x1p-53;
  std::vector<double> data;
  for (int row = 0; row < 100; ++row) {
    const bool may = row >= 30 && row % 2 == 0;
    data.insert(data.end(), {kAbove, kBelow, may ? kAbove : 2.0});
  }
  const ReduceSpec spec{.dtype = DType::kF64, .shape = {100, 3}, .ops = {Op::kProd}, .axes = {1}};
  const testing::Results results =
      testing::Reduce(*MakePlan(spec), data.data(), testing::Shuffled(1));
  EXPECT_EQ(results.overflow.output_index, 30);
  EXPECT_EQ(results.overflow.op, Op::kProd);
  const std::string expected = testing::ReductionAnswers(spec, data.data())[0].bytes;
  for (std::size_t row = 1; row < 100; row += 2) {
    EXPECT_EQ(results.bytes[0].substr(8 * row, 8), expected.substr(8 * row, 8)) << row;
  }
}

// 511 elements whose mean lies 2^-114 above the tie 1 + 2^-53, or below it: further down than the
// quotient of the two float64 numbers that hold their sum.
TEST(ExactCpuMean, BesideATieOfColumns) {
  constexpr std::size_t kRows = 511, kColumns = 16;
  std::vector<double> data(kRows * kColumns, 0.0);
  for (std::size_t c = 0; c < kColumns; ++c) {
    data[c] = 511 + 0x1p-44;
    data[kColumns + c] = -0x1p-53;
    data[2 * kColumns + c] = c % 2 == 0 ? 0x1p-105 : -0x1p-105;
  }
  const ReduceSpec spec{
      .dtype = DType::kF64, .shape = {kRows, kColumns}, .ops = {Op::kMean}, .axes = {0}};
  const testing::Results results = testing::Reduce(*MakePlan(spec), data.data(), cpu::Serial);
  EXPECT_EQ(results.bytes[0], testing::ReductionAnswers(spec, data.data())[0].bytes);
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, ExactCpuReduction, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
