// Sums of elements and of squares, added and joined in any order, are the integers that GMP says.
#include "kernels/exact/state.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/dtypes/element.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/numbers.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::exact {
namespace {

using testing::FormatOf;
using testing::FromBits;
using testing::Numbers;

template <typename T>
class ExactStateTest : public ::testing::Test {
 protected:
  // x in units of T's sums, an integer.
  static mpz_class UnitsOf(T x) {
    mpq_class units = testing::NumberOf(testing::BitsOf(x), FormatOf<T>()) *
                      testing::PowerOfTwo(-testing::UnitExponent<T>());
    EXPECT_EQ(units.get_den(), 1);
    return units.get_num();
  }

  std::vector<T> RandomElements(std::size_t count) {
    const long exponents = (1l << FormatOf<T>().exponent_bits) - 1;
    const long first = numbers_.Between(0, exponents - 1);
    const long binades = numbers_.Between(0, exponents);
    std::vector<T> elements;
    while (elements.size() < count) {
      elements.push_back(FromBits<T>(numbers_.ElementBits(FormatOf<T>(), first, binades)));
    }
    return elements;
  }

  Numbers numbers_;
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(ExactStateTest, Floats);

TYPED_TEST(ExactStateTest, SumsInAnyOrderAreTheIntegerThatTheyAre) {
  using T = TypeParam;
  using SumLayout = DigitLayout<T, 1>;
  using SquareLayout = DigitLayout<T, 2>;
  for (int round = 0; round < testing::Rounds(400); ++round) {
    std::vector<T> elements =
        this->RandomElements(static_cast<std::size_t>(this->numbers_.Between(1, 200)));
    mpz_class sum;
    mpz_class squares;
    for (const T x : elements) {
      const mpz_class units = this->UnitsOf(x);
      sum += units;
      squares += units * units;
    }
    std::shuffle(elements.begin(), elements.end(), this->numbers_.engine());
    WideSum<SumLayout> total;
    WideSum<SquareLayout> square_total;
    for (std::size_t begin = 0; begin < elements.size();) {
      const std::size_t end = begin + static_cast<std::size_t>(this->numbers_.Between(
                                          1, static_cast<long>(elements.size() - begin)));
      WideSum<SumLayout> part;
      WideSum<SquareLayout> square_part;
      for (; begin < end; ++begin) {
        const ElementParts parts = PartsOf(elements[begin]);
        AddAt(part.words, parts.mantissa, parts.bit);
        AddSquareAt(square_part.words, parts);
      }
      Normalize(part);
      Normalize(square_part);
      Join(total, part);
      Join(square_total, square_part);
    }
    ASSERT_EQ(testing::UnitsOf(total), sum);
    ASSERT_EQ(testing::UnitsOf(square_total), squares);
  }
}

// Of negative ones all digits above are ones, and their size may be a digit longer.
TYPED_TEST(ExactStateTest, PowersOfTwoAndTheirNeighboursAreTheIntegersThatTheyAre) {
  using Layout = DigitLayout<TypeParam, 1>;
  for (int bit = 0; bit / 32 + 2 < Layout::kWords; ++bit) {  // as AddAt wants
    for (const int sign : {1, -1}) {
      for (const int beside : {0, 1, -1}) {
        WideSum<Layout> sum;
        AddAt(sum.words, sign, bit);
        AddAt(sum.words, beside, 0);
        const mpz_class want = (mpz_class(1) << static_cast<mp_bitcnt_t>(bit)) * sign + beside;
        ASSERT_EQ(testing::UnitsOf(sum), want) << bit << " " << sign << " " << beside;
      }
    }
  }
}

TYPED_TEST(ExactStateTest, AWordHoldsTwoToThe31Additions) {
  using T = TypeParam;
  using Layout = DigitLayout<T, 1>;
  const T largest = FromBits<T>(FormatOf<T>().InfinityBits() - 1);
  for (const bool negative : {false, true}) {
    ElementParts parts = PartsOf(largest);
    if (negative) parts.mantissa = -parts.mantissa;
    WideSum<Layout> sum;
    AddAt(sum.words, parts.mantissa, parts.bit);
    for (std::int64_t& word : sum.words) word <<= 31;  // as often
    mpz_class want = this->UnitsOf(largest) << 31;
    if (negative) want = -want;
    EXPECT_EQ(testing::UnitsOf(sum), want);
  }
}

TYPED_TEST(ExactStateTest, TheSumOfTwoToThe63LargestElementsFits) {
  using T = TypeParam;
  using SumLayout = DigitLayout<T, 1>;
  using SquareLayout = DigitLayout<T, 2>;
  const T largest = FromBits<T>(FormatOf<T>().InfinityBits() - 1);
  WideSum<SumLayout> sum;
  WideSum<SquareLayout> squares;
  const ElementParts parts = PartsOf(largest);
  AddAt(sum.words, -parts.mantissa, parts.bit);
  AddSquareAt(squares.words, parts);
  for (int doubled = 0; doubled < 63; ++doubled) {
    Normalize(sum);
    Normalize(squares);
    Join(sum, WideSum<SumLayout>(sum));
    Join(squares, WideSum<SquareLayout>(squares));
  }
  const mpz_class units = this->UnitsOf(largest);
  EXPECT_EQ(testing::UnitsOf(sum), mpz_class(-units << 63));
  EXPECT_EQ(testing::UnitsOf(squares), mpz_class(units * units << 63));
}

}  // namespace
}  // namespace warpfold::exact
