// A positive real number by its first 64 bits, and its rounding to an element type: once, to
// nearest, ties to even, decided by integers alone. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_EXACT_ROUNDING_H_
#define WARPFOLD_KERNELS_EXACT_ROUNDING_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// (top + a number in (0, 1) if sticky) * 2^exponent. Bit 63 of top is set, or top is 0, and with it
// the number. (Of quotients and roots the last bits of top are not known: they are zeros, and the
// number lies in (0, 2^unknown). quotient.h says how many; all lie below the half of a last place.)
struct Leading {
  std::uint64_t top;
  std::int64_t exponent;
  bool sticky;
};

// a * 2^unit.
WARPFOLD_HD Leading LeadingOf(WordsView a, std::int64_t unit) {
  const int length = BitLength(a);
  if (length == 0) return {0, 0, false};
  return {BitsFrom(a, length - 64), unit + length - 64, AnyBelow(a, length - 64)};
}

// What of IEEE 754 tells the float types apart.
template <typename T>
struct FloatFormat {
  static constexpr int kPrecision = T::kMantissaBits + 1;
  static constexpr int kExponentBits = T::kExponentBits;
  using Bits = BitsOf<T>;
};
template <>
struct FloatFormat<float> {
  static constexpr int kPrecision = 24;
  static constexpr int kExponentBits = 8;
  using Bits = std::uint32_t;
};
template <>
struct FloatFormat<double> {
  static constexpr int kPrecision = 53;
  static constexpr int kExponentBits = 11;
  using Bits = std::uint64_t;
};

// The exponent of the smallest subnormal number: -24 of f16, -133 of bf16, -149, -1074.
template <typename T>
inline constexpr int kLowestExponent =
    3 - (1 << (FloatFormat<T>::kExponentBits - 1)) - FloatFormat<T>::kPrecision;

template <typename T>
WARPFOLD_HD T Round(const Leading& value, bool negative) {
  using Format = FloatFormat<T>;
  constexpr int kPrecision = Format::kPrecision;
  constexpr std::int64_t kExponentMax = (1 << Format::kExponentBits) - 1;
  constexpr std::uint64_t kInfinityBits = static_cast<std::uint64_t>(kExponentMax)
                                          << (kPrecision - 1);
  const auto signed_number = [negative](std::uint64_t bits) {
    const std::uint64_t sign = std::uint64_t{negative} << (kPrecision - 1 + Format::kExponentBits);
    return BitCast<T>(static_cast<typename Format::Bits>(sign | bits));
  };
  if (value.top == 0) return signed_number(0);
  // The result in units of its last place, which below the normal numbers stays where it is.
  std::int64_t ulp = value.exponent + 64 - kPrecision;
  if (ulp < kLowestExponent<T>) ulp = kLowestExponent<T>;
  const std::int64_t shift = ulp - value.exponent;
  if (shift > 64) return signed_number(0);
  std::uint64_t mantissa = shift == 64 ? 0 : value.top >> shift;
  const std::uint64_t rest = shift == 64 ? value.top : value.top << (64 - shift);
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  if (rest > kHalf || (rest == kHalf && (value.sticky || (mantissa & 1) != 0))) ++mantissa;
  const std::int64_t biased = ulp - kLowestExponent<T>;
  if (biased >= kExponentMax) return signed_number(kInfinityBits);
  // The leading one of a normal mantissa, and a carry out of it, add to the exponent; beyond the
  // largest number comes infinity.
  const std::uint64_t bits = (static_cast<std::uint64_t>(biased) << (kPrecision - 1)) + mantissa;
  return signed_number(bits < kInfinityBits ? bits : kInfinityBits);
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_ROUNDING_H_
