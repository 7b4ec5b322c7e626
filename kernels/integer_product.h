// The component of PROD of integers (components.h); floats have exact/product.h's.
#ifndef WARPFOLD_KERNELS_INTEGER_PRODUCT_H_
#define WARPFOLD_KERNELS_INTEGER_PRODUCT_H_

#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"

namespace warpfold {

// PROD of integers: a magnitude that stays exact while it fits in 64 bits and says so once it does
// not: magnitudes other than 0 never shrink again, so no order of the factors hides an overflow or
// invents one.
template <typename T>
struct Product {
  struct Acc {
    std::uint64_t magnitude;  // the largest value once it is past 64 bits
    std::uint32_t negative;
    std::uint32_t past;  // the magnitude did not fit
  };
  using State = Acc;

  WARPFOLD_HD static constexpr Acc Identity() { return {1, 0, 0}; }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    const std::uint64_t bits = static_cast<std::uint64_t>(Widen(x));
    bool negative = false;
    if constexpr (std::is_signed_v<Wide<T>>) negative = Widen(x) < 0;
    a = Combine(a, {negative ? 0 - bits : bits, negative ? 1u : 0u, 0});
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    if (a.magnitude == 0 || b.magnitude == 0) return {0, 0, 0};
    const uint128 product = static_cast<uint128>(a.magnitude) * b.magnitude;
    const bool past = a.past != 0 || b.past != 0 || (product >> 64) != 0;
    return {past ? ~std::uint64_t{0} : static_cast<std::uint64_t>(product), a.negative ^ b.negative,
            past ? 1u : 0u};
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_INTEGER_PRODUCT_H_
