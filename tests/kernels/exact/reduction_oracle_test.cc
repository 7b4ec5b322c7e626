// The judge of reductions against answers worked out by hand: the table of special values cell by
// cell, ties, integers at the edge of what fits, and where elements belong.
#include "tests/kernels/exact/reduction_oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "kernels/dtypes/element.h"
#include "tests/kernels/numbers.h"

namespace warpfold::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr NanPolicy kPropagate = NanPolicy::kPropagate;
constexpr NanPolicy kOmit = NanPolicy::kOmit;

// One op of one row of elements.
template <typename T>
Answer AnswerOf(Op op, const std::vector<T>& elements, NanPolicy nan_policy = kPropagate,
                double correction = 0) {
  const ReduceSpec spec{.dtype = kDTypeOf<T>,
                        .shape = {static_cast<std::int64_t>(elements.size())},
                        .ops = {op},
                        .nan_policy = nan_policy,
                        .correction = correction};
  return ReductionAnswers(spec, elements.data())[0];
}

template <typename T, typename X>
std::vector<T> ElementsOf(const std::vector<X>& numbers) {
  std::vector<T> elements;
  for (const X x : numbers) elements.push_back(ElementOf<T>(x));
  return elements;
}

template <typename T>
class FloatOracleTest : public ::testing::Test {
 protected:
  // All as float64 numbers that T has.
  static void Expect(Op op, const std::vector<double>& elements, double want,
                     NanPolicy nan_policy = kPropagate, double correction = 0) {
    std::string of;
    for (const double x : elements) of += " " + std::to_string(x);
    EXPECT_EQ(AnswerOf(op, ElementsOf<T>(elements), nan_policy, correction).bytes, BytesOf<T>(want))
        << Name(op) << " of" << of << (nan_policy == kOmit ? " without NaN" : "") << ", correction "
        << correction << ": " << want;
  }
  static void ExpectIndex(Op op, const std::vector<double>& elements, std::int64_t want,
                          NanPolicy nan_policy = kPropagate) {
    EXPECT_EQ(AnswerOf(op, ElementsOf<T>(elements), nan_policy).bytes, BytesOf<std::int64_t>(want))
        << Name(op) << ": " << want;
  }
  static void ExpectBool(Op op, const std::vector<double>& elements, bool want,
                         NanPolicy nan_policy = kPropagate) {
    EXPECT_EQ(AnswerOf(op, ElementsOf<T>(elements), nan_policy).bytes, BytesOf<Bool>(want ? 1 : 0))
        << Name(op) << ": " << want;
  }

  static const Format& format() { return FormatOfFloat(kDTypeOf<T>); }
  static double Number(std::uint64_t bits) { return NumberOf(bits, format()).get_d(); }
  static double Largest() { return Number(format().InfinityBits() - 1); }
  static double Smallest() { return Number(1); }
  // Half of the last place of the largest number.
  static double HalfOfLast() { return (Largest() - Number(format().InfinityBits() - 2)) / 2; }
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(FloatOracleTest, Floats);

struct TableRow {
  NanPolicy nan_policy;
  std::vector<double> elements;
  double sum, mean, l1, l2, var, std;
};

TYPED_TEST(FloatOracleTest, TheTableOfSpecialValuesCellByCell) {
  const TableRow rows[] = {
      {kPropagate, {}, 0.0, kNan, 0.0, 0.0, kNan, kNan},
      {kOmit, {}, 0.0, kNan, 0.0, 0.0, kNan, kNan},
      {kOmit, {kNan}, 0.0, kNan, 0.0, 0.0, kNan, kNan},
      {kOmit, {kNan, -kNan, kNan}, 0.0, kNan, 0.0, 0.0, kNan, kNan},

      {kPropagate, {kNan}, kNan, kNan, kNan, kNan, kNan, kNan},
      {kPropagate, {1, kNan, 2}, kNan, kNan, kNan, kNan, kNan, kNan},
      {kPropagate, {-0.0, kNan}, kNan, kNan, kNan, kNan, kNan, kNan},
      {kPropagate, {kInf, kNan}, kNan, kNan, kNan, kNan, kNan, kNan},
      {kPropagate, {kInf, -kInf, kNan}, kNan, kNan, kNan, kNan, kNan, kNan},
      {kPropagate, {kInf, 1, -kInf}, kNan, kNan, kInf, kInf, kNan, kNan},
      {kOmit, {kInf, 1, -kInf}, kNan, kNan, kInf, kInf, kNan, kNan},
      {kOmit, {kInf, kNan, -kInf}, kNan, kNan, kInf, kInf, kNan, kNan},

      {kPropagate, {1, kInf, kInf}, kInf, kInf, kInf, kInf, kNan, kNan},
      {kPropagate, {-1, -kInf}, -kInf, -kInf, kInf, kInf, kNan, kNan},
      {kOmit, {kNan, kInf}, kInf, kInf, kInf, kInf, kNan, kNan},
      {kOmit, {-kInf, kNan}, -kInf, -kInf, kInf, kInf, kNan, kNan},

      {kPropagate, {-0.0}, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0},
      {kPropagate, {-0.0, -0.0, -0.0}, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0},
      {kOmit, {kNan, -0.0}, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0},

      {kPropagate, {-0.0, 0.0}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {kPropagate, {1, -1, 1, -1}, 0.0, 0.0, 4, 2, 1, 1},
      {kOmit, {kNan, 1, -1, 1, -1}, 0.0, 0.0, 4, 2, 1, 1},
      {kPropagate, {3, 3, 3, 3}, 12, 3, 12, 6, 0.0, 0.0},
      {kPropagate, {-3}, -3, -3, 3, 3, 0.0, 0.0},

      {kPropagate, {3, -4}, -1, -0.5, 7, 5, 12.25, 3.5},
      {kOmit, {kNan, 3, kNan, -4}, -1, -0.5, 7, 5, 12.25, 3.5},
  };
  for (const TableRow& row : rows) {
    this->Expect(Op::kSum, row.elements, row.sum, row.nan_policy);
    this->Expect(Op::kMean, row.elements, row.mean, row.nan_policy);
    this->Expect(Op::kL1Norm, row.elements, row.l1, row.nan_policy);
    this->Expect(Op::kL2Norm, row.elements, row.l2, row.nan_policy);
    this->Expect(Op::kVar, row.elements, row.var, row.nan_policy);
    this->Expect(Op::kStd, row.elements, row.std, row.nan_policy);
  }
}

TYPED_TEST(FloatOracleTest, MaxAbsAndPtp) {
  this->Expect(Op::kMaxAbs, {3, -4}, 4);
  this->Expect(Op::kPtp, {3, -4}, 7);
  this->Expect(Op::kMaxAbs, {kNan}, 0, kOmit);
  this->Expect(Op::kPtp, {kNan, kInf, kInf}, kNan, kOmit);
  this->Expect(Op::kPtp, {-this->Largest(), this->Largest()}, kInf);
}

// At both ends of every binade.
TYPED_TEST(FloatOracleTest, OneElementIsItsOwnSumAndProduct) {
  const int stored = this->format().precision - 1;
  for (std::uint64_t binade = 0; binade < this->format().InfinityBits(); binade += 1ull << stored) {
    for (const std::uint64_t mantissa : {0ull, 1ull, (1ull << stored) - 1}) {
      const double number = this->Number(binade | mantissa);
      for (const double x : {number, -number}) {
        for (const Op op : {Op::kSum, Op::kMean, Op::kProd, Op::kMin}) this->Expect(op, {x}, x);
        for (const Op op : {Op::kL1Norm, Op::kL2Norm}) this->Expect(op, {x}, number);
      }
    }
  }
}

TYPED_TEST(FloatOracleTest, VarianceOfAnyDivisor) {
  for (const NanPolicy policy : {kPropagate, kOmit}) {
    this->Expect(Op::kVar, {0, 1, 2}, 1, policy, 1);
    this->Expect(Op::kStd, {0, 0, 2, 2}, 1, policy);
    this->Expect(Op::kVar, {0, 2}, 0.5, policy, -2);
    this->Expect(Op::kVar, {5}, kNan, policy, 1);
    for (const double correction : {3.0, 4.0, 0x1p62}) {
      this->Expect(Op::kVar, {1, 1, 1}, kNan, policy, correction);
      this->Expect(Op::kStd, {0, 1, 2}, policy == kOmit ? kNan : kInf, policy, correction);
    }
  }
  // N = 3 * 5 - 3^2 = 6, over 3 * (3 + 2^63): 2^-62 rounded, which f16 has not.
  const double tiny = std::is_same_v<TypeParam, Half> ? 0.0 : 0x1p-62;
  this->Expect(Op::kVar, {0, 1, 2}, tiny, kPropagate, kLowest);
}

TYPED_TEST(FloatOracleTest, RoundsOnceAtTheEndsOfTheType) {
  const double largest = this->Largest(), half = this->HalfOfLast(), smallest = this->Smallest();
  this->Expect(Op::kSum, {largest, half}, kInf);
  this->Expect(Op::kSum, {-largest, -half}, -kInf);
  this->Expect(Op::kSum, {largest, half, -smallest}, largest);
  this->Expect(Op::kSum, {largest, largest, -largest}, largest);
  this->Expect(Op::kMean, {largest, largest, largest}, largest);
  this->Expect(Op::kL1Norm, {largest, -largest}, kInf);
  this->Expect(Op::kL2Norm, {-largest}, largest);
  this->Expect(Op::kL2Norm, {smallest}, smallest);
  this->Expect(Op::kVar, {largest, -largest}, kInf);
  this->Expect(Op::kStd, {largest, -largest}, largest);
  this->Expect(Op::kStd, {3 * smallest, smallest}, smallest);
  this->Expect(Op::kVar, {3 * smallest, smallest}, 0.0);
  // Halves of the smallest: to even, and with their sign.
  this->Expect(Op::kMean, {smallest, 0}, 0.0);
  this->Expect(Op::kMean, {-smallest, 0}, -0.0);
  this->Expect(Op::kMean, {3 * smallest, 0}, 2 * smallest);
  // 1 and half of its last place, and a unit more.
  const double ulp = std::ldexp(1.0, 1 - this->format().precision);
  this->Expect(Op::kSum, {1, ulp / 2}, 1);
  this->Expect(Op::kSum, {1 + ulp, ulp / 2}, 1 + 2 * ulp);
  this->Expect(Op::kSum, {1, ulp / 2, smallest}, 1 + ulp);
  this->Expect(Op::kMean, {1, 1 + ulp, 1 + ulp, 1}, 1);
}

TYPED_TEST(FloatOracleTest, ProductsAreTheRealOnesRoundedOnce) {
  const double largest = this->Largest(), smallest = this->Smallest();
  this->Expect(Op::kProd, {}, 1);
  this->Expect(Op::kProd, {kNan, kNan}, 1, kOmit);
  this->Expect(Op::kProd, {kNan, 0}, kNan);
  this->Expect(Op::kProd, {kNan, -3}, -3, kOmit);
  this->Expect(Op::kProd, {0, 2, kInf}, kNan);
  this->Expect(Op::kProd, {-kInf, -0.0}, kNan, kOmit);
  this->Expect(Op::kProd, {-kInf, -2, 3}, kInf);
  this->Expect(Op::kProd, {kInf, -2, 3}, -kInf);
  this->Expect(Op::kProd, {0, -2, 3}, -0.0);
  this->Expect(Op::kProd, {-0.0, -2, 3}, 0.0);
  this->Expect(Op::kProd, {largest, 2, 0.5}, largest);
  this->Expect(Op::kProd, {largest, -2}, -kInf);
  this->Expect(Op::kProd, {smallest, 0.5, 2}, smallest);
  this->Expect(Op::kProd, {smallest, -0.5}, -0.0);
  this->Expect(Op::kProd, {3 * smallest, 0.5}, 2 * smallest);
  // (1 + 2^-b)^2 = 1 + 2^(1 - b) + 2^(-2 b): with b one more than half of the bits cut off a tie.
  const int bits = this->format().precision;
  if (bits % 2 == 0) {
    const double root = 1 + std::ldexp(1.0, -bits / 2);
    this->Expect(Op::kProd, {root, root}, 1 + std::ldexp(1.0, 1 - bits / 2));
  }
}

TYPED_TEST(FloatOracleTest, ExtremaIndicesAndCounts) {
  const std::vector<double> numbers = {2, -0.0, 0.0, 5, -kInf, 5, kInf, -kInf};
  this->Expect(Op::kMin, numbers, -kInf);
  this->Expect(Op::kMax, numbers, kInf);
  this->ExpectIndex(Op::kArgMin, numbers, 4);
  this->ExpectIndex(Op::kArgMax, numbers, 6);
  this->ExpectIndex(Op::kInfCount, numbers, 3);
  this->ExpectIndex(Op::kCountNonzero, numbers, 6);
  this->Expect(Op::kMin, {0.0, -0.0}, -0.0);
  this->Expect(Op::kMax, {-0.0, 0.0}, 0.0);
  this->ExpectIndex(Op::kArgMin, {0.0, -0.0}, 0);
  this->ExpectIndex(Op::kArgMax, {-0.0, 0.0}, 0);
  this->ExpectBool(Op::kAny, {0.0, -0.0}, false);
  this->ExpectBool(Op::kAll, {1, -0.0}, false);

  const std::vector<double> with_nan = {3, kNan, -kInf, kNan, 0};
  this->Expect(Op::kMin, with_nan, kNan);
  this->Expect(Op::kMax, with_nan, kNan);
  this->ExpectIndex(Op::kArgMin, with_nan, 1);
  this->ExpectIndex(Op::kArgMax, with_nan, 1);
  this->ExpectIndex(Op::kCountNonzero, with_nan, 4);
  this->ExpectBool(Op::kAny, {kNan, 0}, true);
  this->ExpectBool(Op::kAll, {kNan, 1}, true);
  this->Expect(Op::kMin, with_nan, -kInf, kOmit);
  this->Expect(Op::kMax, with_nan, 3, kOmit);
  this->ExpectIndex(Op::kArgMin, with_nan, 2, kOmit);
  this->ExpectIndex(Op::kArgMax, with_nan, 0, kOmit);
  this->ExpectIndex(Op::kCountNonzero, with_nan, 2, kOmit);
  this->ExpectBool(Op::kAny, {kNan, 0}, false, kOmit);
  this->ExpectBool(Op::kAll, {kNan, 0}, false, kOmit);
  for (const NanPolicy policy : {kPropagate, kOmit}) {
    this->ExpectIndex(Op::kNanCount, with_nan, 2, policy);
    this->ExpectIndex(Op::kInfCount, with_nan, 1, policy);
  }
  this->Expect(Op::kMin, {kNan}, kNan, kOmit);
  this->ExpectIndex(Op::kArgMax, {kNan}, -1, kOmit);
  this->ExpectBool(Op::kAny, {kNan}, false, kOmit);
  this->ExpectBool(Op::kAll, {kNan}, true, kOmit);
}

template <typename T>
void ExpectAnswer(Op op, const std::vector<T>& elements, const std::string& want,
                  double correction = 0) {
  for (const NanPolicy policy : {kPropagate, kOmit}) {  // integers have no NaN
    const Answer answer = AnswerOf(op, elements, policy, correction);
    EXPECT_EQ(answer.bytes, want) << Name(kDTypeOf<T>) << " " << Name(op);
    EXPECT_EQ(answer.op_overflow, Answer::kAllFit);
  }
}

template <typename T>
class IntegerOracleTest : public ::testing::Test {};
using Integers = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                  std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerOracleTest, Integers);

TYPED_TEST(IntegerOracleTest, EveryOp) {
  using T = TypeParam;
  using Sum = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
  const std::vector<T> elements = {4, 0, 3, 4, 0, 3};
  const auto number = [](double x) { return BytesOf<double>(x); };
  const auto index = [](std::int64_t x) { return BytesOf<std::int64_t>(x); };
  ExpectAnswer<T>(Op::kSum, elements, BytesOf<Sum>(14));
  ExpectAnswer<T>(Op::kMean, elements, number(7.0 / 3));
  ExpectAnswer<T>(Op::kL1Norm, elements, number(14));
  ExpectAnswer<T>(Op::kL2Norm, elements, number(std::sqrt(50.0)));
  // 6 * 50 - 14^2 = 104, over 36 and 30.
  ExpectAnswer<T>(Op::kVar, elements, number(26.0 / 9));
  ExpectAnswer<T>(Op::kVar, elements, number(52.0 / 15), 1);
  ExpectAnswer<T>(Op::kStd, {4, 0, 4, 0}, number(2));
  ExpectAnswer<T>(Op::kVar, elements, number(kInf), 6);
  ExpectAnswer<T>(Op::kVar, {3, 3}, number(kNan), 2);
  ExpectAnswer<T>(Op::kStd, {3, 3}, number(0));
  ExpectAnswer<T>(Op::kProd, elements, BytesOf<Sum>(0));
  ExpectAnswer<T>(Op::kProd, {4, 3, 3}, BytesOf<Sum>(36));
  ExpectAnswer<T>(Op::kMin, elements, BytesOf<T>(0));
  ExpectAnswer<T>(Op::kMax, elements, BytesOf<T>(4));
  ExpectAnswer<T>(Op::kArgMin, elements, index(1));
  ExpectAnswer<T>(Op::kArgMax, elements, index(0));
  ExpectAnswer<T>(Op::kCountNonzero, elements, index(4));
  ExpectAnswer<T>(Op::kAny, elements, BytesOf<Bool>(1));
  ExpectAnswer<T>(Op::kAll, elements, BytesOf<Bool>(0));
  ExpectAnswer<T>(Op::kNanCount, elements, index(0));
  ExpectAnswer<T>(Op::kInfCount, elements, index(0));
  // Of nothing.
  ExpectAnswer<T>(Op::kSum, {}, BytesOf<Sum>(0));
  ExpectAnswer<T>(Op::kProd, {}, BytesOf<Sum>(1));
  ExpectAnswer<T>(Op::kMean, {}, number(kNan));
  ExpectAnswer<T>(Op::kVar, {}, number(kNan));
  ExpectAnswer<T>(Op::kL2Norm, {}, number(0));
  ExpectAnswer<T>(Op::kAll, {}, BytesOf<Bool>(1));

  const T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  ExpectAnswer<T>(Op::kMin, {1, lowest, highest}, BytesOf<T>(lowest));
  ExpectAnswer<T>(Op::kMax, {lowest, 1, highest}, BytesOf<T>(highest));
  ExpectAnswer<T>(Op::kMean, {lowest}, number(static_cast<double>(lowest)));
  ExpectAnswer<T>(Op::kL1Norm, {lowest}, number(std::fabs(static_cast<double>(lowest))));
  ExpectAnswer<T>(Op::kL2Norm, {highest}, number(static_cast<double>(highest)));
}

TEST(ReductionOracleTest, BoolsAreTrueIfTheyAreNotZero) {
  const std::vector<Bool> elements = {{0}, {7}, {1}, {255}};
  ExpectAnswer(Op::kSum, elements, BytesOf<std::int64_t>(3));
  ExpectAnswer(Op::kMean, elements, BytesOf<double>(0.75));
  ExpectAnswer(Op::kVar, elements, BytesOf<double>(0.1875));
  ExpectAnswer(Op::kMax, elements, BytesOf<Bool>(1));
  ExpectAnswer(Op::kMin, elements, BytesOf<Bool>(0));
  ExpectAnswer(Op::kArgMax, elements, BytesOf<std::int64_t>(1));
  ExpectAnswer(Op::kCountNonzero, elements, BytesOf<std::int64_t>(3));
  ExpectAnswer<Bool>(Op::kProd, {{9}, {3}}, BytesOf<std::int64_t>(1));
}

TEST(ReductionOracleTest, NumbersThatNeedMoreThanFloat64) {
  ExpectAnswer<double>(Op::kSum, {1, 1e16, -1e16}, BytesOf<double>(1));
  const std::int64_t beyond = (std::int64_t{1} << 53) + 1;
  ExpectAnswer<std::int64_t>(Op::kVar, {beyond, beyond, beyond}, BytesOf<double>(0));
  ExpectAnswer<std::int64_t>(Op::kMean, {beyond, beyond + 1, beyond - 1},
                             BytesOf<double>(0x1p53));  // a tie
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  ExpectAnswer<std::uint64_t>(Op::kMean, {largest, largest}, BytesOf<double>(0x1p64));
  ExpectAnswer<std::uint64_t>(Op::kVar, {largest, largest - 2}, BytesOf<double>(1));
  ExpectAnswer<std::int64_t>(Op::kStd, {kLowest, kHighest}, BytesOf<double>(0x1p63));
  // 4097^2 = 16785409 lies between two numbers of f32.
  ExpectAnswer<float>(Op::kProd, {4097, 4097}, BytesOf<float>(16785408.0f));
}

TEST(ReductionOracleTest, IntegersThatDoNotFitAreNamed) {
  const ReduceSpec spec{
      .dtype = DType::kI64, .shape = {4, 2}, .ops = {Op::kSum, Op::kProd, Op::kMax}, .axes = {1}};
  const std::vector<std::int64_t> data = {kHighest, kLowest, kHighest, 1, kLowest, -1, 3, 4};
  const std::vector<Answer> answers = ReductionAnswers(spec, data.data());
  EXPECT_EQ(answers[0].op_overflow, 1);
  EXPECT_EQ(answers[0].overflow_value, mpz_class(1) << 63);
  EXPECT_EQ(answers[1].op_overflow, 0);
  EXPECT_EQ(answers[1].overflow_value, mpz_class(kHighest) * mpz_class(kLowest));
  EXPECT_EQ(answers[2].op_overflow, Answer::kAllFit);

  ExpectAnswer<std::int64_t>(Op::kSum, {kHighest, kLowest, kLowest, kHighest, 2, kHighest, -1},
                             BytesOf<std::int64_t>(kHighest - 1));
  ExpectAnswer<std::int64_t>(Op::kProd, {std::int64_t{1} << 62, -2},
                             BytesOf<std::int64_t>(kLowest));
  EXPECT_EQ(AnswerOf<std::int64_t>(Op::kProd, {std::int64_t{1} << 62, 2}).op_overflow, 0);
  ExpectAnswer<std::int64_t>(Op::kProd, {kLowest, kLowest, 0}, BytesOf<std::int64_t>(0));
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  ExpectAnswer<std::uint64_t>(Op::kSum, {largest, 0}, BytesOf<std::uint64_t>(largest));
  EXPECT_EQ(AnswerOf<std::uint64_t>(Op::kSum, {largest, 1}).overflow_value, mpz_class(1) << 64);
}

}  // namespace
}  // namespace warpfold::testing
