// The rounding that judges: of every 16-bit number and what lies around it, and of 32 and 64 bits
// as the processor rounds sums, products, quotients and roots.
#include "tests/kernels/exact/oracle.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "tests/kernels/effort.h"

namespace warpfold::testing {
namespace {

// Between each number and the next: both, the middle, and what is a little to its sides.
TEST(NearestBitsTest, RoundsToTheNearestNumberAndTiesToEven) {
  for (const Format& format : {kFormats[0], kFormats[1]}) {
    const mpq_class little = PowerOfTwo(-400);
    for (std::uint64_t bits = 0; bits < format.InfinityBits(); ++bits) {
      const mpq_class number = NumberOf(bits, format);
      // Of the largest what would be the next, were there more exponents.
      const mpq_class next = bits + 1 == format.InfinityBits()
                                 ? 2 * number - NumberOf(bits - 1, format)
                                 : NumberOf(bits + 1, format);
      const mpq_class middle = (number + next) / 2;
      const std::uint64_t even = bits + bits % 2;
      ASSERT_EQ(NearestBits(number, format), bits) << format.name;
      ASSERT_EQ(NearestBits(mpq_class(middle - little), format), bits) << format.name;
      ASSERT_EQ(NearestBits(middle, format), even) << format.name << " " << bits;
      ASSERT_EQ(NearestBits(mpq_class(middle + little), format), bits + 1) << format.name;
      const auto of_root = [&](const mpq_class& root, const mpq_class& more) {
        return NearestBits(mpq_class(root * root + more), format, true);
      };
      ASSERT_EQ(of_root(number, 0), bits) << format.name;
      ASSERT_EQ(of_root(middle, -little), bits) << format.name;
      ASSERT_EQ(of_root(middle, 0), even) << format.name << " " << bits;
      ASSERT_EQ(of_root(middle, little), bits + 1) << format.name;
    }
    EXPECT_EQ(NearestBits(PowerOfTwo(100'000), format), format.InfinityBits());
    EXPECT_EQ(NearestBits(PowerOfTwo(-100'000), format), 0u);
  }
}

template <typename T, typename Bits>
void ExpectTheProcessorsRounding(const Format& format) {
  std::mt19937_64 random(20261126);
  // Any finite numbers, or such whose sums, products and quotients are finite.
  const auto draw = [&](bool is_any) {
    for (;;) {
      const T x = std::bit_cast<T>(static_cast<Bits>(random()));
      if (std::isfinite(x) && x != 0 && (is_any || std::abs(std::ilogb(x)) < 50)) return x;
    }
  };
  for (int round = 0; round < Rounds(20'000); ++round) {
    const T a = draw(round % 2 == 0);
    const T b = draw(round % 2 == 0);
    const auto expect = [&](const mpq_class& value, T want, bool root = false) {
      ASSERT_EQ(NearestBits(value, format, root), std::bit_cast<Bits>(std::fabs(want)))
          << a << " and " << b << ": " << want;
    };
    const mpq_class x = NumberOf(std::bit_cast<Bits>(a), format);
    const mpq_class y = NumberOf(std::bit_cast<Bits>(b), format);
    expect(x + y, a + b);
    expect(x * y, a * b);
    expect(x / y, a / b);
    expect(abs(x), std::sqrt(std::fabs(a)), true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(NearestBitsTest, RoundsAsTheProcessorDoes) {
  ExpectTheProcessorsRounding<float, std::uint32_t>(kFormats[2]);
  ExpectTheProcessorsRounding<double, std::uint64_t>(kFormats[3]);
}

}  // namespace
}  // namespace warpfold::testing
