// Sums of rows on every SIMD width that this processor has, against GMP's integers.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/each_loop.h"  // which widths are compiled
// Which has to know.
#include "hwy/targets.h"
#include "kernels/cpu/exact_sums.h"
#include "kernels/element.h"
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

constexpr std::uint64_t kSeed = 20261125;

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

  template <bool kOmitsNan>
  static void ExpectSum(const std::vector<T>& row, const mpz_class& sum, std::uint32_t specials,
                        const std::string& target) {
    exact::WideSum<Layout> words;
    ASSERT_EQ((GetExactSumLoops<T, kOmitsNan>().add(
                  row.data(), static_cast<std::int64_t>(row.size()), words.words)),
              specials)
        << target;
    if ((specials & exact::kNotFinite) != 0) return;
    ASSERT_EQ(testing::FromMagnitude(exact::MagnitudeOf(words)), sum) << target;
  }

  Numbers numbers_{kSeed};
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(ExactCpuSumsTest, Floats);

TYPED_TEST(ExactCpuSumsTest, RowsOfAnyExponentsAreSummedExactly) {
  using T = TypeParam;
  for (int round = 0; round < testing::Rounds(40); ++round) {
    const std::vector<T> row =
        this->RandomRow(static_cast<std::size_t>(this->numbers_.Between(1, 20'000)));
    mpz_class sum;
    std::uint32_t specials = 0;
    for (const T x : row) {
      sum += this->UnitsOf(x);
      if (BitsOf(x) != FormatOf<T>().SignBit()) specials = exact::kHasOtherThanNegativeZero;
    }
    this->OnEachTarget([&](const std::string& target) {
      this->template ExpectSum<false>(row, sum, specials, target);
      this->template ExpectSum<true>(row, sum, specials, target);
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
        mpz_class sum;
        for (std::size_t i = 0; i < row.size(); ++i) {
          const long exponent = i % 1000 == 999 ? largest - apart : largest;
          row[i] = FromBits<T>(static_cast<std::uint64_t>(exponent) << (format.precision - 1) |
                               stored | (negative ? format.SignBit() : 0));
          sum += this->UnitsOf(row[i]);
        }
        this->OnEachTarget([&](const std::string& target) {
          this->template ExpectSum<false>(row, sum, exact::kHasOtherThanNegativeZero, target);
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
    const mpz_class sum = one.bits == 1 ? this->UnitsOf(FromBits<T>(1)) : mpz_class(0);
    for (const std::size_t place : {0, 1, 17, 1023, 1024, 5000, 8999}) {
      std::vector<T> row = zeros;
      row[place] = FromBits<T>(one.bits);
      this->OnEachTarget([&](const std::string& target) {
        this->template ExpectSum<false>(row, sum, one.kept, target);
        this->template ExpectSum<true>(row, sum, one.omitted, target);
      });
    }
  }
}

}  // namespace
}  // namespace warpfold::cpu
