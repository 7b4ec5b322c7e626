// The product of floats without an order: a mantissa of 128 bits, an exponent of 64, and how often
// something was cut off, which bounds the error. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_EXACT_PRODUCT_H_
#define WARPFOLD_KERNELS_EXACT_PRODUCT_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// So many factors, or their states, never come to an exponent that does not fit: each has one of at
// most 1,100 beyond zero, and 128 come with a mantissa.
inline constexpr std::int64_t kProductElementsMax = std::int64_t{1} << 52;

// A positive number in [mantissa, mantissa + 2 truncations + 1) * 2^exponent, or mantissa *
// 2^exponent itself if truncations is 0. The mantissa's highest bit is set. One that was never cut
// is the same whatever the order: odd parts of factors never shrink.
struct PositiveProduct {
  uint128 mantissa = uint128{1} << 127;
  std::int64_t exponent = -127;
  std::uint64_t truncations = 0;
};

WARPFOLD_HD PositiveProduct Times(const PositiveProduct& a, const PositiveProduct& b) {
  const auto low_half = [](uint128 x) { return uint128{static_cast<std::uint64_t>(x)}; };
  const uint128 low_low = low_half(a.mantissa) * low_half(b.mantissa);
  const uint128 low_high = low_half(a.mantissa) * (b.mantissa >> 64);
  const uint128 high_low = (a.mantissa >> 64) * low_half(b.mantissa);
  uint128 high = (a.mantissa >> 64) * (b.mantissa >> 64);
  const uint128 middle = (low_low >> 64) + low_half(low_high) + low_half(high_low);
  high += (low_high >> 64) + (high_low >> 64) + (middle >> 64);
  uint128 low = middle << 64 | low_half(low_low);
  std::int64_t exponent = a.exponent + b.exponent + 128;
  if (high >> 127 == 0) {
    high = high << 1 | low >> 127;
    low <<= 1;
    --exponent;
  }
  return {high, exponent, a.truncations + b.truncations + (low != 0 ? 1 : 0)};
}

// Of a finite element that is not 0, its absolute value.
template <typename T>
WARPFOLD_HD PositiveProduct ProductOf(T x) {
  using Format = FloatFormat<T>;
  constexpr int kStored = Format::kPrecision - 1;
  const std::uint64_t bits = BitCast<typename Format::Bits>(x);
  const auto biased =
      static_cast<std::int64_t>(bits >> kStored & ((1 << Format::kExponentBits) - 1));
  const std::uint64_t stored = bits & ((std::uint64_t{1} << kStored) - 1);
  const std::uint64_t mantissa = biased == 0 ? stored : stored | std::uint64_t{1} << kStored;
  const int shift = 128 - BitLength(uint128{mantissa});
  return {uint128{mantissa} << shift, kLowestExponent<T> + (biased > 1 ? biased - 1 : 0) - shift,
          0};
}

// The product rounded to R if every number that it may be rounds alike; false if not, and *result
// is then either.
template <typename R>
WARPFOLD_HD bool RoundProduct(const PositiveProduct& product, bool negative, R* result) {
  const auto round = [&](uint128 mantissa, std::int64_t exponent, bool sticky) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(mantissa),
                                   static_cast<std::uint64_t>(mantissa >> 64)};
    Leading value = LeadingOf(WordsView{words, 2}, exponent);
    value.sticky = value.sticky || sticky;
    return Round<R>(value, negative);
  };
  using Bits = typename FloatFormat<R>::Bits;
  *result = round(product.mantissa, product.exponent, false);
  if (product.truncations == 0) return true;
  const uint128 highest = product.mantissa + 2 * uint128{product.truncations} + 1;
  // Beyond 2^128 the lowest bit is no bit of a result.
  const R other = highest < product.mantissa
                      ? round(highest >> 1 | uint128{1} << 127, product.exponent + 1, true)
                      : round(highest, product.exponent, false);
  return BitCast<Bits>(*result) == BitCast<Bits>(other);
}

// What elements of any kind multiply to.
struct ProductState {
  // What decides the result without a mantissa. Joins by or.
  enum : std::uint32_t { kHasZero = 1, kHasInfinity = 2, kHasNan = 4 };

  PositiveProduct size;  // 1 once there is a flag
  std::uint32_t flags = 0;
  std::uint32_t is_negative = 0;  // an odd number of signs

  WARPFOLD_HD void Add(const ProductState& other) {
    flags |= other.flags;
    is_negative ^= other.is_negative;
    size = flags == 0 ? Times(size, other.size) : PositiveProduct{};
  }
};

// The product rounded to R; false if it may round either way.
template <typename R>
WARPFOLD_HD bool FinishProduct(const ProductState& product, R* result) {
  const bool is_negative = product.is_negative != 0;
  if (product.flags == 0) return RoundProduct(product.size, is_negative, result);
  const bool is_nan = (product.flags & ProductState::kHasNan) != 0 ||
                      product.flags == (ProductState::kHasZero | ProductState::kHasInfinity);
  if (is_nan) {
    *result = QuietNan<R>();
  } else if (product.flags == ProductState::kHasInfinity) {
    *result = Infinity<R>(is_negative);
  } else {
    *result = RoundFromDouble<R>(is_negative ? -0.0 : 0.0);
  }
  return true;
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_PRODUCT_H_
