// Floats that lie one after another, multiplied.
#ifndef WARPFOLD_KERNELS_CPU_PRODUCT_LOOP_H_
#define WARPFOLD_KERNELS_CPU_PRODUCT_LOOP_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/product.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::cpu {

namespace internal {

// a times a factor that is not 0. Without branches, which would go either way.
inline void MultiplyBy(exact::PositiveProduct& a, std::uint64_t factor) {
  const int zeros = exact::LeadingZeros(factor);
  factor <<= zeros;
  const uint128 low = uint128{static_cast<std::uint64_t>(a.mantissa)} * factor;
  const uint128 high = (a.mantissa >> 64) * factor + (low >> 64);
  // Three words, of which the highest has its highest bit set, or the one below that.
  std::uint64_t words[] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
                           static_cast<std::uint64_t>(high >> 64)};
  const bool is_short = words[2] >> 63 == 0;
  words[2] = is_short ? words[2] << 1 | words[1] >> 63 : words[2];
  words[1] = is_short ? words[1] << 1 | words[0] >> 63 : words[1];
  words[0] = is_short ? words[0] << 1 : words[0];
  a.mantissa = uint128{words[2]} << 64 | words[1];
  a.truncations += words[0] != 0 ? 1 : 0;
  a.exponent += 64 - zeros - (is_short ? 1 : 0);
}

// What decides the sign, and whether there is anything to multiply.
template <bool kOmitsNan, typename T>
exact::ProductState FlagsOf(const T* elements, std::int64_t count) {
  using Format = exact::FloatFormat<T>;
  using Bits = typename Format::Bits;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  constexpr Bits kInfinity = ((Bits{1} << Format::kExponentBits) - 1) << (Format::kPrecision - 1);
  Bits flags = 0, signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Bits bits = BitCast<Bits>(elements[i]);
    const Bits size = bits & static_cast<Bits>(~kSign);
    const bool is_nan = size > kInfinity;
    flags |= size == 0 ? Bits{exact::ProductState::kHasZero} : Bits{0};
    flags |= size == kInfinity ? Bits{exact::ProductState::kHasInfinity} : Bits{0};
    if constexpr (!kOmitsNan) flags |= is_nan ? Bits{exact::ProductState::kHasNan} : Bits{0};
    signs ^= is_nan ? Bits{0} : bits;
  }
  exact::ProductState state;
  state.flags = static_cast<std::uint32_t>(flags);
  state.is_negative = (signs & kSign) != 0 ? 1 : 0;
  return state;
}

}  // namespace internal

// Multiplies `product` by `count` floats. As many mantissas as 64 bits hold become one factor, and
// several products run side by side: each waits for its last multiplication.
template <bool kOmitsNan, typename T>
void Multiply(const T* elements, std::int64_t count, exact::ProductState& product) {
  using Format = exact::FloatFormat<T>;
  constexpr int kFactors = 64 / Format::kPrecision;
  constexpr int kRunning = 4;
  exact::ProductState all = internal::FlagsOf<kOmitsNan>(elements, count);
  if ((all.flags | product.flags) == 0) {
    exact::PositiveProduct running[kRunning];
    std::int64_t exponent = 0;
    const auto multiply = [&](const T* from, int factors, exact::PositiveProduct& into) {
      std::uint64_t factor = 1;
      for (int f = 0; f < factors; ++f) {
        if (kOmitsNan && IsNan(from[f])) continue;
        constexpr int kStored = Format::kPrecision - 1;
        const std::uint64_t bits = BitCast<typename Format::Bits>(from[f]);
        const auto biased =
            static_cast<std::int64_t>(bits >> kStored & ((1 << Format::kExponentBits) - 1));
        const std::uint64_t stored = bits & ((std::uint64_t{1} << kStored) - 1);
        factor *= biased == 0 ? stored : stored | std::uint64_t{1} << kStored;
        exponent += exact::kLowestExponent<T> + std::max<std::int64_t>(biased - 1, 0);
      }
      internal::MultiplyBy(into, factor);
    };
    std::int64_t i = 0;
    for (; i + kRunning * kFactors <= count; i += kRunning * kFactors) {
      for (int r = 0; r < kRunning; ++r) {
        multiply(elements + i + r * kFactors, kFactors, running[r]);
      }
    }
    for (; i < count; i += kFactors) {
      multiply(elements + i, static_cast<int>(std::min<std::int64_t>(kFactors, count - i)),
               running[0]);
    }
    all.size =
        exact::Times(exact::Times(running[0], running[1]), exact::Times(running[2], running[3]));
    all.size.exponent += exponent;
  }
  product.Add(all);
}

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_PRODUCT_LOOP_H_
