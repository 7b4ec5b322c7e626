// The judge of exact results: rational numbers of GMP, which share nothing with kernels/exact.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_

#include <gmpxx.h>

#include <algorithm>
#include <cstdint>

namespace warpfold::testing {

// A float type, by IEEE 754's numbers.
struct Format {
  const char* name;
  int precision;        // bits of a normal number
  int lowest_exponent;  // of the smallest subnormal number
  int exponent_bits;

  int LargestExponent() const { return (1 << exponent_bits) - 2 + lowest_exponent; }
  std::uint64_t InfinityBits() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << (precision - 1);
  }
  std::uint64_t SignBit() const { return std::uint64_t{1} << (precision - 1 + exponent_bits); }
};

inline constexpr Format kFormats[] = {
    {"f16", 11, -24, 5}, {"bf16", 8, -133, 8}, {"f32", 24, -149, 8}, {"f64", 53, -1074, 11}};

inline mpq_class PowerOfTwo(long exponent) {
  mpq_class power(1);
  if (exponent >= 0) {
    mpq_mul_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  } else {
    mpq_div_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
  }
  return power;
}

// The number of a finite element's bits.
inline mpq_class NumberOf(std::uint64_t bits, const Format& format) {
  const int stored = format.precision - 1;
  const auto biased = static_cast<long>(bits >> stored & ((1u << format.exponent_bits) - 1));
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << stored) - 1);
  if (biased != 0) mantissa |= std::uint64_t{1} << stored;
  mpq_class number(mpz_class(static_cast<unsigned long>(mantissa)));
  number *= PowerOfTwo(format.lowest_exponent + std::max(biased - 1, 0l));
  return (bits & format.SignBit()) != 0 ? mpq_class(-number) : number;
}

// The bits of the number nearest to |value|, or to its root, ties to even. By trying: the
// candidates of one exponent after another, compared with the value itself.
inline std::uint64_t NearestBits(const mpq_class& value, const Format& format, bool root = false) {
  const mpq_class size = abs(value);
  if (size == 0) return 0;
  const long length = static_cast<long>(mpz_sizeinbase(size.get_num_mpz_t(), 2)) -
                      static_cast<long>(mpz_sizeinbase(size.get_den_mpz_t(), 2));
  const mpz_class limit = mpz_class(1) << format.precision;
  // floor(length / 2) - 1 is at most the root's exponent, length - 1 the value's.
  const long exponent = (root ? (length >= 0 ? length / 2 : -((1 - length) / 2)) : length) - 1;
  for (long more = 0;; ++more) {
    const long ulp =
        std::max(exponent + more - format.precision + 1, static_cast<long>(format.lowest_exponent));
    const mpq_class units = size * PowerOfTwo(-(root ? 2 : 1) * ulp);
    mpz_class floor;
    mpz_fdiv_q(floor.get_mpz_t(), units.get_num_mpz_t(), units.get_den_mpz_t());
    if (root) floor = sqrt(floor);
    const mpq_class middle = mpq_class(2 * floor + 1) / 2;
    const int side = cmp(units, root ? mpq_class(middle * middle) : middle);
    if (side > 0 || (side == 0 && mpz_odd_p(floor.get_mpz_t()) != 0)) ++floor;
    if (floor > limit) continue;
    const long biased = ulp - format.lowest_exponent;
    if (biased >= 1l << format.exponent_bits) return format.InfinityBits();
    const std::uint64_t bits =
        (static_cast<std::uint64_t>(biased) << (format.precision - 1)) + floor.get_ui();
    return std::min(bits, format.InfinityBits());
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_
