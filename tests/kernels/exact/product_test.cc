// Products in any order against rational numbers: the true one lies within the bound, what is given
// is the nearest to it, and random ones are never refused.
#include "kernels/exact/product.h"

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
using testing::NearestBits;
using testing::NumberOf;
using testing::Numbers;
using testing::PowerOfTwo;

mpq_class Lowest(const PositiveProduct& product) {
  mpz_class mantissa = static_cast<unsigned long>(product.mantissa >> 64);
  mantissa = (mantissa << 64) + static_cast<unsigned long>(product.mantissa);
  return mpq_class(mantissa) * PowerOfTwo(product.exponent);
}

template <typename T>
class ExactProductTest : public ::testing::Test {
 protected:
  // Within 40 binades of 1, or the type's whole range; of a few bits or of all.
  std::vector<T> RandomFactors() {
    const auto& format = FormatOf<T>();
    const long exponents = (1l << format.exponent_bits) - 1;
    const bool wide = numbers_.OneIn(4);
    const long binades = wide ? exponents : std::min(40l, exponents / 2);
    const long first = wide ? 0 : (exponents - binades) / 2;
    const int kept = static_cast<int>(numbers_.Between(0, format.precision - 1));
    const auto count = static_cast<std::size_t>(numbers_.OneIn(4) ? 300 : numbers_.Between(1, 6));
    std::vector<T> factors;
    while (factors.size() < count) {
      std::uint64_t bits = numbers_.ElementBits(format, first, binades) & ~format.SignBit();
      bits = bits >> kept << kept;
      if (bits != 0) factors.push_back(FromBits<T>(bits));
    }
    return factors;
  }

  Numbers numbers_;
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(ExactProductTest, Floats);

TYPED_TEST(ExactProductTest, WhatIsGivenIsTheProductRoundedOnce) {
  using T = TypeParam;
  int exact = 0;
  for (int round = 0; round < testing::Rounds(4000); ++round) {
    std::vector<T> factors = this->RandomFactors();
    mpq_class want = 1;
    for (const T x : factors) want *= NumberOf(testing::BitsOf(x), FormatOf<T>());
    for (const bool as_tree : {false, true}) {
      std::shuffle(factors.begin(), factors.end(), this->numbers_.engine());
      std::vector<PositiveProduct> products;
      for (const T x : factors) products.push_back(ProductOf(x));
      while (products.size() > 1) {
        const std::size_t other = as_tree ? products.size() / 2 : 1;
        products[products.size() - 1 - other] =
            Times(products[products.size() - 1 - other], products.back());
        products.pop_back();
      }
      const PositiveProduct& product = products[0];
      const mpq_class unit = PowerOfTwo(product.exponent);
      if (product.truncations == 0) {
        ASSERT_EQ(Lowest(product), want);
        ++exact;
      } else {
        ASSERT_LE(Lowest(product), want);
        ASSERT_GE(Lowest(product) + unit * (2 * product.truncations + 1), want);
      }
      T result;
      ASSERT_TRUE(RoundProduct(product, true, &result));
      ASSERT_EQ(testing::BitsOf(result),
                NearestBits(want, FormatOf<T>()) | FormatOf<T>().SignBit());
    }
  }
  EXPECT_GT(exact, testing::Rounds(4000) / 4);
}

TYPED_TEST(ExactProductTest, WhatMayRoundEitherWayIsRefused) {
  using T = TypeParam;
  // All bits below the tie's are zeros, and something was cut off: on the tie or above it.
  const uint128 one_and_half_ulp = (uint128{1} << FormatOf<T>().precision | 1)
                                   << (127 - FormatOf<T>().precision);
  T result;
  EXPECT_FALSE(RoundProduct(PositiveProduct{one_and_half_ulp, -127, 1}, false, &result));
  EXPECT_TRUE(RoundProduct(PositiveProduct{one_and_half_ulp, -127, 0}, false, &result));
  EXPECT_EQ(testing::BitsOf(result), testing::BitsOf(RoundFromDouble<T>(1.0)));
  EXPECT_TRUE(RoundProduct(PositiveProduct{one_and_half_ulp + 1, -127, 1}, false, &result));
  // Below the tie by less than what was cut off may make up for.
  EXPECT_FALSE(RoundProduct(PositiveProduct{one_and_half_ulp - 2, -127, 1}, false, &result));
  EXPECT_TRUE(RoundProduct(PositiveProduct{one_and_half_ulp - 4, -127, 1}, false, &result));
  // Carried into the next binade.
  EXPECT_TRUE(RoundProduct(PositiveProduct{~uint128{0}, -127, 1}, false, &result));
  EXPECT_EQ(testing::BitsOf(result), testing::BitsOf(RoundFromDouble<T>(2.0)));
}

TYPED_TEST(ExactProductTest, ExponentsHoldProductsThatNoTypeDoes) {
  using T = TypeParam;
  PositiveProduct product;
  const T largest = FromBits<T>(FormatOf<T>().InfinityBits() - 1);
  const T smallest = FromBits<T>(1);
  T result;
  for (int i = 0; i < 1000; ++i) product = Times(product, ProductOf(largest));
  ASSERT_TRUE(RoundProduct(product, false, &result));
  EXPECT_TRUE(IsInf(result));
  for (int i = 0; i < 2000; ++i) product = Times(product, ProductOf(smallest));
  ASSERT_TRUE(RoundProduct(product, true, &result));
  EXPECT_EQ(testing::BitsOf(result), FormatOf<T>().SignBit());
}

}  // namespace
}  // namespace warpfold::exact
