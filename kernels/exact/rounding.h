// A positive real number by its first 64 bits, and its rounding to an element type: once, to
// nearest, ties to even, decided by integers alone. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_EXACT_ROUNDING_H_
#define WARPFOLD_KERNELS_EXACT_ROUNDING_H_

#include <cstdint>

#include "kernels/element.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// (top + a number in (0, 2) if sticky) * 2^exponent. Bit 63 of top is set, or top is 0, and with it
// the number. (A root may have 63 bits, so that the last of top is not known. No type has so many.)
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

namespace internal {

WARPFOLD_HD Leading LeadingOf(const Truncated& of) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(of.value),
                                 static_cast<std::uint64_t>(of.value >> 64)};
  Leading leading = exact::LeadingOf(WordsView{words, 2}, of.exponent);
  leading.sticky = leading.sticky || of.has_rest;
  return leading;
}

}  // namespace internal

// a * 2^unit / divisor, 0 < divisor < 2^127.
WARPFOLD_HD Leading Quotient(WordsView a, uint128 divisor, std::int64_t unit) {
  if (BitLength(a) == 0) return {0, 0, false};
  constexpr int kBits = 66;  // 64 and the one or two that a quotient may fall short of
  Truncated quotient = Divide<kBits>(a, divisor);
  quotient.exponent += unit;
  return internal::LeadingOf(quotient);
}

// The root of a * 2^unit / divisor. As floor(root(x)) is floor(root(floor(x))), what the division
// leaves and what the root leaves just add up.
WARPFOLD_HD Leading RootOfQuotient(WordsView a, uint128 divisor, std::int64_t unit) {
  if (BitLength(a) == 0) return {0, 0, false};
  const Truncated quotient = Divide<126>(a, divisor);
  Truncated root = Root(quotient.value, quotient.exponent + unit);
  root.has_rest = root.has_rest || quotient.has_rest;
  return internal::LeadingOf(root);
}

// The root of a * 2^unit.
WARPFOLD_HD Leading RootOf(WordsView a, std::int64_t unit) {
  const int length = BitLength(a);
  if (length == 0) return {0, 0, false};
  const uint128 top = uint128{BitsFrom(a, length - 64)} << 64 | BitsFrom(a, length - 128);
  Truncated root = Root(top, unit + length - 128);
  root.has_rest = root.has_rest || AnyBelow(a, length - 128);
  return internal::LeadingOf(root);
}

// What of IEEE 754 tells the float types apart.
template <typename T>
struct FloatFormat {
  static constexpr int kPrecision = T::kMantissaBits + 1;
  static constexpr int kExponentBits = T::kExponentBits;
  using Bits = std::uint16_t;
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
