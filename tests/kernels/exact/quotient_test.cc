// Quotients and roots against GMP's, beside where they are exact: a bit more or less at any place,
// and divisors that make a guessed word of a quotient too large.
#include "kernels/exact/quotient.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/host_device.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/numbers.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::exact {
namespace {

using testing::Numbers;
using testing::PowerOfTwo;

class ExactQuotientTest : public ::testing::Test {
 protected:
  mpz_class Power(long exponent) { return mpz_class(1) << static_cast<mp_bitcnt_t>(exponent); }

  // Of 1 to `bits` bits: any, or a power of two, or one less or more.
  mpz_class Number(long bits) {
    const long size = numbers_.Between(1, bits);
    if (numbers_.OneIn(2)) return numbers_.Bits(size) | Power(size - 1);
    const mpz_class number = Power(size - 1) + numbers_.Between(-1, 1);
    return number > 0 ? number : mpz_class(1);
  }

  // Below 2^127: words of ones, of zeros, or any, at any place.
  mpz_class Divisor() {
    const auto word = [&] {
      const long kind = numbers_.Between(0, 3);
      return kind == 0 ? mpz_class(0) : kind == 1 ? mpz_class(Power(64) - 1) : numbers_.Bits(64);
    };
    mpz_class divisor = word() + (word() << 64);
    if (numbers_.OneIn(2)) divisor |= Power(127);
    divisor >>= static_cast<mp_bitcnt_t>(numbers_.Between(1, 127));
    return divisor > 0 ? divisor : mpz_class(1);
  }

  // The words that hold a number, and now and then zeros around them that are not held.
  struct Words {
    std::vector<std::uint64_t> words;
    WordsView view;
  };
  Words ToWords(const mpz_class& number) {
    Words to{std::vector<std::uint64_t>(8), {}};
    std::size_t count = 0;
    mpz_export(to.words.data(), &count, -1, sizeof(std::uint64_t), 0, 0, number.get_mpz_t());
    EXPECT_LE(count, to.words.size());
    const bool holds_all = numbers_.OneIn(2);
    int first = 0;
    while (!holds_all && to.words[static_cast<std::size_t>(first)] == 0) ++first;
    const int end = static_cast<int>(holds_all ? to.words.size() : count);
    to.view = {to.words.data() + first, end - first, first};
    return to;
  }

  static uint128 ToUint128(const mpz_class& number) {
    const mpz_class high = number >> 64;
    return uint128{high.get_ui()} << 64 | mpz_class(number - (high << 64)).get_ui();
  }

  // `power` of the result is `value`: it lies from top on, and less than 2^unknown of its last bits
  // above it.
  static void ExpectLeading(const Leading& got, const mpq_class& value, int power, int unknown) {
    ASSERT_GE(got.top >> 63, 1u);
    const auto of = [&](const mpz_class& top) {
      const mpq_class number = top * PowerOfTwo(static_cast<long>(got.exponent));
      return power == 2 ? mpq_class(number * number) : number;
    };
    const mpz_class top = static_cast<unsigned long>(got.top);
    ASSERT_LE(of(top), value);
    ASSERT_LT(value, of(top + (mpz_class(1) << static_cast<mp_bitcnt_t>(unknown))));
    ASSERT_EQ(got.sticky, of(top) != value) << value;
  }

  Numbers numbers_;
};

TEST_F(ExactQuotientTest, QuotientsAreTheirLeadingBitsAndWhetherMoreFollow) {
  const int rounds = testing::Rounds(200'000);
  for (int round = 0; round < rounds; ++round) {
    const mpz_class divisor = Divisor();
    // What is left is nothing, all that may be, or one bit; and a bit below, or not.
    const mpz_class rests[] = {0, 1, divisor - 1};
    mpz_class number = Number(140) * divisor + rests[numbers_.Between(0, 2)];
    number <<= static_cast<mp_bitcnt_t>(numbers_.Between(0, 512 - 267));
    if (numbers_.OneIn(4)) number |= 1;
    const long unit = numbers_.Between(-2200, 2200);
    const Words words = ToWords(number);
    ExpectLeading(Quotient(words.view, ToUint128(divisor), unit),
                  mpq_class(number) / divisor * PowerOfTwo(unit), 1, 1);
    if (HasFatalFailure()) FAIL() << number << " / " << divisor;
  }
}

TEST_F(ExactQuotientTest, RootsAreTheirLeadingBitsAndWhetherMoreFollow) {
  const int rounds = testing::Rounds(200'000);
  for (int round = 0; round < rounds; ++round) {
    const mpz_class divisor = Divisor();
    const mpz_class root = Number(100);
    // A square, or a unit beside it, of the number or of the quotient.
    mpz_class number = root * root * divisor;
    const mpz_class steps[] = {0, 0, 1, -1, divisor, -divisor};
    number += steps[numbers_.Between(0, 5)];
    if (number <= 0) continue;
    number <<= static_cast<mp_bitcnt_t>(numbers_.Between(0, 512 - 328));
    if (numbers_.OneIn(4)) number |= 1;
    const long unit = numbers_.Between(-2200, 2200);
    const Words words = ToWords(number);
    const mpq_class value = mpq_class(number) * PowerOfTwo(unit);
    const mpq_class quotient = value / divisor;
    const uint128 by = ToUint128(divisor);
    ExpectLeading(RootOfQuotient<double>(words.view, by, unit), quotient, 2, 2);
    ExpectLeading(RootOfQuotient<float>(words.view, by, unit), quotient, 2, 34);
    ExpectLeading(RootOf<double>(words.view, unit), value, 2, 2);
    ExpectLeading(RootOf<float>(words.view, unit), value, 2, 34);
    if (HasFatalFailure()) FAIL() << "root of " << number << " / " << divisor << " * 2^" << unit;
  }
}

TEST_F(ExactQuotientTest, OfZeroTheyAreZero) {
  const WordsView zero{nullptr, 0};
  EXPECT_EQ(Quotient(zero, 3, 0).top, 0u);
  EXPECT_EQ(RootOfQuotient<double>(zero, 3, 0).top, 0u);
  EXPECT_EQ(RootOf<float>(zero, 0).top, 0u);
}

}  // namespace
}  // namespace warpfold::exact
