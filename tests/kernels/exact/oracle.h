// The judge of exact results: rational numbers of GMP, which share nothing with kernels/exact.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_

#include <gmpxx.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace warpfold::testing {

// A float type, by IEEE 754's numbers.
struct Format {
  const char* name;
  int precision;        // bits of a normal number
  int lowest_exponent;  // of the smallest subnormal number
  int exponent_bits;
  bool has_infinities = true;  // else NaN is where infinity would be, all of its bits set

  std::uint64_t InfinityBits() const {
    if (!has_infinities) return SignBit() - 1;
    return ((std::uint64_t{1} << exponent_bits) - 1) << (precision - 1);
  }
  std::uint64_t NanBits() const {
    return has_infinities ? InfinityBits() | std::uint64_t{1} << (precision - 2) : InfinityBits();
  }
  // Of bits without the sign.
  bool IsInfinity(std::uint64_t size) const { return has_infinities && size == InfinityBits(); }
  bool IsNan(std::uint64_t size) const { return size >= InfinityBits() && !IsInfinity(size); }
  std::uint64_t SignBit() const { return std::uint64_t{1} << (precision - 1 + exponent_bits); }
};

inline constexpr Format kFormats[] = {{"f16", 11, -24, 5},          {"bf16", 8, -133, 8},
                                      {"f32", 24, -149, 8},         {"f64", 53, -1074, 11},
                                      {"f8_e4m3", 4, -9, 4, false}, {"f8_e5m2", 3, -16, 5}};

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

// The bits of the number nearest to numerator / denominator * 2^unit, or to its root, ties to even;
// neither is negative. By trying: the candidates of one last place after another, compared with the
// value itself.
inline std::uint64_t NearestBits(const mpz_class& numerator, const mpz_class& denominator,
                                 long unit, const Format& format, bool root = false) {
  if (numerator == 0) return 0;
  const auto bit_length = [](const mpz_class& x) {
    return static_cast<long>(mpz_sizeinbase(x.get_mpz_t(), 2));
  };
  // The value lies between 2^(length - 1) and 2^(length + 1), the result from 2^exponent to below
  // 2^(exponent + 2).
  const long length = bit_length(numerator) - bit_length(denominator) + unit;
  const long exponent = (root ? length / 2 : length) - 1;
  if (exponent + 2 < format.lowest_exponent) return 0;
  const mpz_class limit = mpz_class(1) << format.precision;
  const long lowest_exponent = format.lowest_exponent;
  for (long ulp = std::max(exponent - format.precision + 1, lowest_exponent);; ++ulp) {
    const long biased = ulp - lowest_exponent;
    if (biased >= 1l << format.exponent_bits) return format.InfinityBits();
    const long shift = unit - (root ? 2 : 1) * ulp;
    mpz_class above = numerator;
    mpz_class below = denominator;
    (shift >= 0 ? above : below) <<= static_cast<mp_bitcnt_t>(std::abs(shift));
    mpz_class floor = above / below;
    if (root) floor = sqrt(floor);
    const mpz_class middle = 2 * floor + 1;
    const int side =
        root ? cmp(4 * above, middle * middle * below) : cmp(2 * above, middle * below);
    if (side > 0 || (side == 0 && mpz_odd_p(floor.get_mpz_t()) != 0)) ++floor;
    if (floor > limit) continue;
    const std::uint64_t bits =
        (static_cast<std::uint64_t>(biased) << (format.precision - 1)) + floor.get_ui();
    return std::min(bits, format.InfinityBits());
  }
}

// Of |value|.
inline std::uint64_t NearestBits(const mpq_class& value, const Format& format, bool root = false) {
  return NearestBits(abs(value.get_num()), value.get_den(), 0, format, root);
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_ORACLE_H_
