// Conversions of the floats of 16 and of 8 bits, every bit pattern of them, and the ordered keys of
// every type.
#include "kernels/dtypes/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/dtypes/ordered_key.h"
#include "kernels/types.h"
#include "tests/kernels/numbers.h"

namespace warpfold {
namespace {

template <typename T>
class HalfTest : public ::testing::Test {};
using Halves = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, WidensEveryPatternExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam x{static_cast<std::uint16_t>(bits)};
    const double expected = testing::Number(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(IsNan(x)) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(Widen(x))),
              std::bit_cast<std::uint64_t>(expected))
        << bits;
    ASSERT_EQ(RoundFromDouble<TypeParam>(expected).bits, bits);
  }
}

// Halfway between every two neighbours, a little to either side, and past the largest.
TYPED_TEST(HalfTest, RoundsOnceToNearestEven) {
  constexpr int kMantissa = TypeParam::kMantissaBits;
  for (std::uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const double x = testing::DecodeFloat16(static_cast<std::uint16_t>(bits), kMantissa);
    const double next = testing::DecodeFloat16(static_cast<std::uint16_t>(bits + 1), kMantissa);
    if (!std::isfinite(x)) continue;
    const double middle = std::isfinite(next) ? x + (next - x) / 2 : x * 1.0005;
    for (const double value :
         {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)}) {
      ASSERT_EQ(RoundFromDouble<TypeParam>(value).bits, testing::EncodeFloat16(value, kMantissa))
          << bits;
      ASSERT_EQ(RoundFromDouble<TypeParam>(-value).bits, testing::EncodeFloat16(-value, kMantissa))
          << bits;
    }
  }
  for (const double value : {1e300, 1e-300, 65519.99, 65520.0, 3.4e38, 5e-324}) {
    EXPECT_EQ(RoundFromDouble<TypeParam>(value).bits, testing::EncodeFloat16(value, kMantissa))
        << value;
  }
}

template <typename T>
class ByteFloatTest : public ::testing::Test {};
using ByteFloats = ::testing::Types<F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(ByteFloatTest, ByteFloats);

TYPED_TEST(ByteFloatTest, LiftsEveryCodeExactlyAndLowersItAgain) {
  int nans = 0;
  for (int bits = 0; bits < 0x100; ++bits) {
    const TypeParam x{static_cast<std::uint8_t>(bits)};
    const double expected = testing::Number(x);
    const Half lifted = Lift(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(IsNan(lifted) && IsNan(x)) << bits;
      EXPECT_EQ(Lower<TypeParam>(lifted).bits, QuietNan<TypeParam>().bits) << bits;
      ++nans;
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(Widen(lifted))),
              std::bit_cast<std::uint64_t>(expected))
        << bits;
    ASSERT_EQ(Lower<TypeParam>(lifted).bits, bits);
    ASSERT_EQ(IsInf(x), std::isinf(expected));
  }
  EXPECT_EQ(nans, (std::is_same_v<TypeParam, F8E4M3> ? 2 : 6));
  EXPECT_TRUE(std::isnan(testing::Number(QuietNan<TypeParam>())));
  EXPECT_EQ(NegativeZero<TypeParam>().bits, 0x80);
}

TEST(ElementTest, KeysOrderAsNumbersAndComeBack) {
  std::mt19937_64 random(3);
  for (const DType dtype : kAllDTypes) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int i = 0; i < 20000; ++i) {
        T a, b;
        const std::uint64_t bits[2] = {random(), random()};
        std::memcpy(&a, &bits[0], sizeof(T));
        std::memcpy(&b, &bits[1], sizeof(T));
        if constexpr (std::is_same_v<T, Bool>) a.byte &= 1, b.byte &= 1;
        if (IsNan(a) || IsNan(b)) continue;
        const T back = FromKey<T>(ToKey(a));
        ASSERT_EQ(std::memcmp(&back, &a, sizeof(T)), 0) << Name(dtype);
        if (testing::Number(a) != testing::Number(b)) {
          ASSERT_EQ(ToKey(a) < ToKey(b), testing::Number(a) < testing::Number(b)) << Name(dtype);
        }
        ASSERT_LE(kLowestKey<T>, ToKey(a));
        ASSERT_GE(kHighestKey<T>, ToKey(a));
      }
      if constexpr (kIsFloat<T>) {
        EXPECT_TRUE(IsNan(FromKey<T>(kLowestKey<T>))) << Name(dtype);
        EXPECT_TRUE(IsNan(FromKey<T>(kHighestKey<T>))) << Name(dtype);
        EXPECT_LT(ToKey(testing::ElementOf<T>(-0.0)), ToKey(testing::ElementOf<T>(0.0)));
      }
    });
  }
}

}  // namespace
}  // namespace warpfold
