// Between GMP's integers and what kernels/exact takes, and numbers to try.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_NUMBERS_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_NUMBERS_H_

#include <gmpxx.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::testing {

template <typename T>
const Format& FormatOf() {
  if constexpr (std::is_same_v<T, Half>) return kFormats[0];
  if constexpr (std::is_same_v<T, BFloat16>) return kFormats[1];
  if constexpr (std::is_same_v<T, float>) return kFormats[2];
  if constexpr (std::is_same_v<T, double>) return kFormats[3];
}

// What a type's exact sums are counted in: bf16's in f32's.
template <typename T>
long UnitExponent() {
  return std::is_same_v<T, BFloat16> ? -149 : FormatOf<T>().lowest_exponent;
}

template <typename T>
std::uint64_t BitsOf(T x) {
  return BitCast<typename exact::FloatFormat<T>::Bits>(x);
}

template <typename T>
T FromBits(std::uint64_t bits) {
  return BitCast<T>(static_cast<typename exact::FloatFormat<T>::Bits>(bits));
}

// Holds no zeros at its ends.
template <class Layout>
exact::Magnitude<Layout> ToMagnitude(const mpz_class& value) {
  exact::Magnitude<Layout> magnitude = {};
  magnitude.is_negative = value < 0;
  std::size_t count = 0;
  mpz_export(magnitude.words, &count, -1, sizeof(std::uint64_t), 0, 0, value.get_mpz_t());
  while (magnitude.first < static_cast<int>(count) && magnitude.words[magnitude.first] == 0) {
    ++magnitude.first;
  }
  magnitude.count = static_cast<int>(count) - magnitude.first;
  return magnitude;
}

template <class Layout>
mpz_class UnitsOf(exact::WideSum<Layout> sum) {
  exact::Normalize(sum);
  const auto magnitude = exact::MagnitudeOf(sum);
  const exact::WordsView words = magnitude.View();
  mpz_class units;
  mpz_import(units.get_mpz_t(), static_cast<std::size_t>(words.count), -1, sizeof(std::uint64_t), 0,
             0, words.words);
  units <<= 64 * static_cast<mp_bitcnt_t>(words.first);
  return magnitude.is_negative ? mpz_class(-units) : units;
}

// The same ones in every run.
class Numbers {
 public:
  Numbers() : gmp_(gmp_randinit_default) { gmp_.seed(kSeed); }

  // In [low, high].
  long Between(long low, long high) {
    return std::uniform_int_distribution<long>(low, high)(random_);
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  mpz_class Bits(long count) { return gmp_.get_z_bits(static_cast<mp_bitcnt_t>(count)); }

  // From 1 to 2^62, of any size.
  long Count() {
    const long bits = Between(0, 61);
    const long low = 1l << bits;
    return OneIn(3) ? low : low + Between(0, low - 1);
  }

  // The bits of a finite element within `binades` of a random exponent.
  std::uint64_t ElementBits(const Format& format, long first_binade, long binades) {
    const long last = std::min(first_binade + binades, (1l << format.exponent_bits) - 2);
    const auto exponent = static_cast<std::uint64_t>(Between(first_binade, last));
    const std::uint64_t stored = random_() & ((std::uint64_t{1} << (format.precision - 1)) - 1);
    return exponent << (format.precision - 1) | stored | (OneIn(2) ? format.SignBit() : 0);
  }

  std::mt19937_64& engine() { return random_; }

 private:
  static constexpr std::uint64_t kSeed = 20261125;

  std::mt19937_64 random_{kSeed};
  gmp_randclass gmp_;
};

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_NUMBERS_H_
