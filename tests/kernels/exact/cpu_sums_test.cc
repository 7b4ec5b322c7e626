// Sums of rows on every SIMD width that this processor has, against GMP's integers.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/loop_table.h"  // which widths are compiled
// Which has to know.
#include "hwy/targets.h"
#include "kernels/cpu/exact_sums.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/state.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/numbers.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::cpu {
namespace {

using testing::BitsOf;
using testing::FormatOf;
using testing::FromBits;
using testing::Numbers;

template <typename T>
class ExactCpuSumsTest : public ::testing::Test {
 protected:
  using Layout = exact::DigitLayout<T, 1>;

  void TearDown() override { Choose(0); }

  // 0: what the processor would choose.
  static void Choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  // Runs `check` on each width.
  template <class Check>
  static void OnEachTarget(const Check& check) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      Choose(target);
      check(std::string(hwy::TargetName(target)));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  // Blocks of elements, each within some binades of an exponent of its own, zeros among them.
  std::vector<T> RandomRow(std::size_t count) {
    const auto& format = FormatOf<T>();
    const long exponents = (1l << format.exponent_bits) - 2;
    std::vector<T> row;
    while (row.size() < count) {
      const long binades = numbers_.OneIn(3) ? exponents : numbers_.Between(0, 45);
      const long first = numbers_.OneIn(4) ? 0 : numbers_.Between(0, exponents);
      const std::size_t end = row.size() + static_cast<std::size_t>(numbers_.Between(1, 6000));
      const bool has_zeros = numbers_.OneIn(2);
      while (row.size() < std::min(end, count)) {
        std::uint64_t bits = numbers_.ElementBits(format, first, binades);
        if (has_zeros && (bits & 1) != 0) bits &= format.SignBit();
        row.push_back(FromBits<T>(bits));
      }
    }
    return row;
  }

  static mpz_class UnitsOf(T x) {
    return mpz_class(testing::NumberOf(BitsOf(x), FormatOf<T>()) *
                     testing::PowerOfTwo(-testing::UnitExponent<T>()));
  }

  // What a row adds up to.
  struct Sums {
    mpz_class sum, absolute_sum, squares;
    std::uint32_t specials = 0;

    void Add(T x) {
      if (BitsOf(x) != FormatOf<T>().SignBit()) specials |= exact::kHasOtherThanNegativeZero;
      const mpz_class units = UnitsOf(x);
      sum += units;
      absolute_sum += abs(units);
      squares += units * units;
    }
  };

  // By the loops of sums and of statistics.
  template <bool kOmitsNan>
  static void ExpectSums(const std::vector<T>& row, const Sums& want, const std::string& target) {
    const auto count = static_cast<std::int64_t>(row.size());
    exact::WideSum<Layout> sum, statistics_sum, absolute_sum;
    exact::WideSum<exact::DigitLayout<T, 2>> squares;
    const ExactSumLoop<T, kOmitsNan>& sums = GetExactSumLoops();
    ASSERT_EQ(sums.add(row.data(), count, {.sum = sum.words}), want.specials) << target;
    const ExactSumLoop<T, kOmitsNan>& statistics = GetExactStatisticsLoops();
    ASSERT_EQ(statistics.add(row.data(), count,
                             {statistics_sum.words, absolute_sum.words, squares.words}),
              want.specials)
        << target;
    if ((want.specials & exact::kNotFinite) != 0) return;
    ASSERT_EQ(testing::UnitsOf(sum), want.sum) << target;
    ASSERT_EQ(testing::UnitsOf(statistics_sum), want.sum) << target;
    ASSERT_EQ(testing::UnitsOf(absolute_sum), want.absolute_sum) << target;
    ASSERT_EQ(testing::UnitsOf(squares), want.squares) << target;
  }

  Numbers numbers_;
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(ExactCpuSumsTest, Floats);

TYPED_TEST(ExactCpuSumsTest, RowsOfAnyExponentsAreSummedExactly) {
  using T = TypeParam;
  for (int round = 0; round < testing::Rounds(40); ++round) {
    const std::vector<T> row =
        this->RandomRow(static_cast<std::size_t>(this->numbers_.Between(1, 20'000)));
    typename TestFixture::Sums sums;
    for (const T x : row) sums.Add(x);
    this->OnEachTarget([&](const std::string& target) {
      this->template ExpectSums<false>(row, sums, target);
      this->template ExpectSums<true>(row, sums, target);
    });
  }
}

// Elements of the largest mantissa as far apart as a window admits, and one binade further.
TYPED_TEST(ExactCpuSumsTest, TheEdgesOfAWindow) {
  using T = TypeParam;
  const auto& format = FormatOf<T>();
  const long exponents = (1l << format.exponent_bits) - 2;
  const std::uint64_t stored = (std::uint64_t{1} << (format.precision - 1)) - 1;
  for (const long largest : {1l, 30l, exponents / 2, exponents}) {
    for (long apart = 0; apart < std::min(64l, largest); ++apart) {
      for (const bool negative : {false, true}) {
        std::vector<T> row(8192);
        typename TestFixture::Sums sums;
        for (std::size_t i = 0; i < row.size(); ++i) {
          const long exponent = i % 1000 == 999 ? largest - apart : largest;
          row[i] = FromBits<T>(static_cast<std::uint64_t>(exponent) << (format.precision - 1) |
                               stored | (negative ? format.SignBit() : 0));
          sums.Add(row[i]);
        }
        this->OnEachTarget([&](const std::string& target) {
          this->template ExpectSums<false>(row, sums, target);
        });
      }
    }
  }
}

TYPED_TEST(ExactCpuSumsTest, SpecialValuesAnywhereInATile) {
  using T = TypeParam;
  const auto& format = FormatOf<T>();
  const std::uint64_t infinity = format.InfinityBits();
  const std::vector<T> zeros(9000, FromBits<T>(format.SignBit()));
  constexpr std::uint32_t kOther = exact::kHasOtherThanNegativeZero;
  struct {
    std::uint64_t bits;
    std::uint32_t kept, omitted;
  } const cases[] = {
      {format.SignBit(), 0, 0},
      {0, kOther, kOther},
      {1, kOther, kOther},
      {infinity, exact::kHasPositiveInfinity | kOther, exact::kHasPositiveInfinity | kOther},
      {infinity | format.SignBit(), exact::kHasNegativeInfinity | kOther,
       exact::kHasNegativeInfinity | kOther},
      {infinity | 1, exact::kHasNan | kOther, 0},
      {infinity | format.SignBit() | (infinity >> 1), exact::kHasNan | kOther, 0},
  };
  for (const auto& one : cases) {
    typename TestFixture::Sums kept;
    if (one.bits == 1) kept.Add(FromBits<T>(1));
    typename TestFixture::Sums omitted = kept;
    kept.specials = one.kept;
    omitted.specials = one.omitted;
    for (const std::size_t place : {0, 1, 17, 1023, 1024, 5000, 8999}) {
      std::vector<T> row = zeros;
      row[place] = FromBits<T>(one.bits);
      this->OnEachTarget([&](const std::string& target) {
        this->template ExpectSums<false>(row, kept, target);
        this->template ExpectSums<true>(row, omitted, target);
      });
    }
  }
}

}  // namespace
}  // namespace warpfold::cpu
