// Every op of exact sums against rational numbers: random sums, sums built so that the result lies
// on a tie or one unit beside it, subnormal results and infinite ones; and the table of special
// values.
#include "kernels/exact/finish.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>

#include "kernels/dtypes/element.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/expected_divisor.h"
#include "tests/kernels/exact/numbers.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::exact {
namespace {

using testing::FormatOf;
using testing::NearestBits;
using testing::Numbers;
using testing::PowerOfTwo;
using testing::ToMagnitude;
using testing::UnitExponent;

mpz_class CeilOf(const mpq_class& value) {
  mpz_class ceil;
  mpz_cdiv_q(ceil.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return ceil;
}

long BitLengthOf(const mpz_class& value) {
  return value == 0 ? 0 : static_cast<long>(mpz_sizeinbase(value.get_mpz_t(), 2));
}

template <typename T>
class ExactFinishTest : public ::testing::Test {
 protected:
  using SumLayout = DigitLayout<T, 1>;
  using SquareLayout = DigitLayout<T, 2>;

  // A number whose rounding to T lies on a tie, shifted to any place of a sum; the one from which
  // on it is infinite; or any number.
  mpz_class Wanted(int power) {
    const long precision = FormatOf<T>().precision;
    const long top = power * (SumLayout::kBits - 63);
    if (numbers_.OneIn(3)) return numbers_.Bits(numbers_.Between(1, top));
    if (numbers_.OneIn(8)) {
      const long unit = power == 1 ? 0 : SumLayout::kUnit;
      return ((mpz_class(2) << precision) - 1)
             << static_cast<mp_bitcnt_t>(top / power - precision - 1 - unit);
    }
    mpz_class middle = (numbers_.Bits(precision - 1) << 1) + 1 + (mpz_class(1) << precision);
    return middle << static_cast<mp_bitcnt_t>(numbers_.Between(0, std::max(0l, top - precision)));
  }

  mpz_class Beside(const mpz_class& value) {
    constexpr int kSteps[] = {0, 0, 1, -1};
    mpz_class beside = value + kSteps[numbers_.Between(0, 3)];
    return beside < 0 ? value : beside;
  }

  static mpz_class WithoutLowestWord(const mpz_class& value) { return (value >> 64) << 64; }

  // `value` is in units of T's sums, or their squares.
  static void ExpectNearest(const mpq_class& value, long unit, bool root, T got, const char* what) {
    const std::uint64_t want = NearestBits(value * PowerOfTwo(unit), FormatOf<T>(), root) |
                               (value < 0 ? FormatOf<T>().SignBit() : 0);
    ASSERT_EQ(testing::BitsOf(got), want) << what << " of " << value << " * 2^" << unit;
  }

  Numbers numbers_;
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(ExactFinishTest, Floats);

TYPED_TEST(ExactFinishTest, SumsMeansAndNormsAreRoundedOnce) {
  using T = TypeParam;
  using SumLayout = typename TestFixture::SumLayout;
  using SquareLayout = typename TestFixture::SquareLayout;
  const long unit = UnitExponent<T>();
  const int rounds = testing::Rounds(30'000);
  for (int round = 0; round < rounds; ++round) {
    const long n = this->numbers_.Count();
    const Participants of{n, kHasOtherThanNegativeZero};
    mpz_class sum = this->Beside(this->Wanted(1));
    if (this->numbers_.OneIn(2)) sum = -sum;
    this->ExpectNearest(sum, unit, false, FinishSum<T>(ToMagnitude<SumLayout>(sum), of), "SUM");
    this->ExpectNearest(abs(sum), unit, false,
                        FinishL1Norm<T>(ToMagnitude<SumLayout>(abs(sum)), of), "L1_NORM");
    mpz_class total = this->Beside(this->Wanted(1) * n);
    if (this->numbers_.OneIn(2)) total = -total;
    this->ExpectNearest(mpq_class(total) / n, unit, false,
                        FinishMean<T>(ToMagnitude<SumLayout>(total), of), "MEAN");
    const mpz_class root = this->Wanted(1);
    const mpz_class squares = this->Beside(root * root);
    this->ExpectNearest(squares, 2 * unit, true,
                        FinishL2Norm<T>(ToMagnitude<SquareLayout>(squares), of), "L2_NORM");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(ExactFinishTest, VariancesAreRoundedOnce) {
  using T = TypeParam;
  using SumLayout = typename TestFixture::SumLayout;
  using SquareLayout = typename TestFixture::SquareLayout;
  const long unit = UnitExponent<T>();
  constexpr double kCorrections[] = {0, 1, -3, -0x1p62, -0x1p63, 0.5, 1 - 0x1p-53, 0.1, -1e290};
  const int rounds = testing::Rounds(30'000);
  int tried = 0;
  for (int round = 0; round < rounds; ++round) {
    const long n = this->numbers_.Count();
    const Variance as{kCorrections[this->numbers_.Between(0, std::ssize(kCorrections) - 1)], false};
    const mpq_class divisor = testing::ExpectedDivisor(n, as.correction);
    if (divisor <= 0) continue;
    // All elements k but for what makes the variance the one that is wanted.
    const bool root = this->numbers_.OneIn(2);
    mpz_class k = this->numbers_.Bits(this->numbers_.Between(1, SumLayout::kBits - 63));
    if (this->numbers_.OneIn(4)) k = this->WithoutLowestWord(k);
    mpz_class wanted = this->Wanted(root ? 1 : 2);
    if (root) wanted = wanted * wanted;
    const mpz_class sum = k * n;
    mpz_class squares = this->Beside(CeilOf(mpq_class(wanted) * divisor + k * k * n));
    if (this->numbers_.OneIn(4)) squares = this->WithoutLowestWord(squares);
    const mpz_class numerator = squares * n - sum * sum;
    if (numerator < 0 || BitLengthOf(squares) > SquareLayout::kBits) continue;
    ++tried;
    const mpq_class variance = mpq_class(numerator) / (mpq_class(n) * divisor);
    const Participants of{n, kHasOtherThanNegativeZero};
    const auto s = ToMagnitude<SumLayout>(sum);
    const auto q = ToMagnitude<SquareLayout>(squares);
    this->ExpectNearest(variance, 2 * unit, false, (FinishVariance<T, false>(s, q, of, as)), "VAR");
    this->ExpectNearest(variance, 2 * unit, true, (FinishVariance<T, true>(s, q, of, as)), "STD");
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(tried, rounds / 2);
}

// A row of the table of special values: what takes part, and the results of each op, NaN as "n".
struct Row {
  const char* what;
  std::int64_t count;
  std::uint32_t specials;
  double sum, mean, l1, l2, var, std;
};

TYPED_TEST(ExactFinishTest, SpecialValuesAreThoseOfTheTable) {
  using T = TypeParam;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr std::uint32_t kOther = kHasOtherThanNegativeZero;
  constexpr std::uint32_t kBoth = kHasPositiveInfinity | kHasNegativeInfinity | kOther;
  const Row rows[] = {
      {"nothing", 0, 0, 0.0, kNan, 0.0, 0.0, kNan, kNan},
      {"a NaN", 3, kHasNan | kOther, kNan, kNan, kNan, kNan, kNan, kNan},
      {"a NaN and infinity", 3, kHasNan | kHasPositiveInfinity | kOther, kNan, kNan, kNan, kNan,
       kNan, kNan},
      {"both infinities", 3, kBoth, kNan, kNan, kInf, kInf, kNan, kNan},
      {"infinity", 3, kHasPositiveInfinity | kOther, kInf, kInf, kInf, kInf, kNan, kNan},
      {"-infinity", 3, kHasNegativeInfinity | kOther, -kInf, -kInf, kInf, kInf, kNan, kNan},
      {"-0.0 alone", 3, 0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0},
      {"a sum of 0", 3, kOther, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
  };
  const Magnitude<DigitLayout<T, 1>> zero = {};
  const Magnitude<DigitLayout<T, 2>> zero_squares = {};
  const Variance as{1, false};
  for (const Row& row : rows) {
    const Participants of{row.count, row.specials};
    const auto expect = [&](T got, double want, const char* op) {
      EXPECT_EQ(testing::BitsOf(got), testing::BitsOf(RoundFromDouble<T>(want)))
          << op << " of " << row.what;
    };
    expect(FinishSum<T>(zero, of), row.sum, "SUM");
    expect(FinishMean<T>(zero, of), row.mean, "MEAN");
    expect(FinishL1Norm<T>(zero, of), row.l1, "L1_NORM");
    expect(FinishL2Norm<T>(zero_squares, of), row.l2, "L2_NORM");
    expect((FinishVariance<T, false>(zero, zero_squares, of, as)), row.var, "VAR");
    expect((FinishVariance<T, true>(zero, zero_squares, of, as)), row.std, "STD");
  }
}

TYPED_TEST(ExactFinishTest, ADivisorOfZeroOrLessIsNanOrInfinite) {
  using T = TypeParam;
  // Three elements: 1, 1, 1 and 0, 1, 2 units.
  const Participants of{3, kHasOtherThanNegativeZero};
  const auto sum = ToMagnitude<DigitLayout<T, 1>>(3);
  const auto equal = ToMagnitude<DigitLayout<T, 2>>(3);
  const auto unequal = ToMagnitude<DigitLayout<T, 2>>(5);
  for (const double correction : {3.0, 3.5, 4.0, 0x1p62, 1e300}) {
    const Variance keeps_nan{correction, false};
    const Variance omits_nan{correction, true};
    EXPECT_TRUE(IsNan((FinishVariance<T, false>(sum, equal, of, keeps_nan)))) << correction;
    EXPECT_TRUE(IsNan((FinishVariance<T, true>(sum, unequal, of, omits_nan)))) << correction;
    EXPECT_TRUE(IsInf((FinishVariance<T, true>(sum, unequal, of, keeps_nan)))) << correction;
  }
}

}  // namespace
}  // namespace warpfold::exact
