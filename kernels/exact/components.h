// Components (kernels/components.h) whose values are exact, so that no order shows: products of
// floats, and squares of integers that no int128 component adds up.
#ifndef WARPFOLD_KERNELS_EXACT_COMPONENTS_H_
#define WARPFOLD_KERNELS_EXACT_COMPONENTS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/product.h"
#include "kernels/exact/sums.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// PROD of floats.
template <typename T>
struct ExactProduct {
  // A ProductState's bits: shared memory holds nothing that has a constructor.
  struct alignas(ProductState) Acc {
    std::uint64_t words[sizeof(ProductState) / sizeof(std::uint64_t)];
  };
  using State = Acc;
  WARPFOLD_HD static ProductState ProductOf(const Acc& a) { return BitCast<ProductState>(a); }

  WARPFOLD_HD static Acc Identity() { return BitCast<Acc>(ProductState{}); }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    ProductState factor;
    if (IsNan(x)) factor.flags = ProductState::kHasNan;
    if (IsInf(x)) factor.flags = ProductState::kHasInfinity;
    if (Widen(x) == 0) factor.flags = ProductState::kHasZero;
    using Bits = typename FloatFormat<T>::Bits;
    factor.is_negative = static_cast<std::uint32_t>(BitCast<Bits>(x) >> (8 * sizeof(T) - 1));
    if (factor.flags == 0) factor.size = exact::ProductOf(x);
    a = Combine(a, BitCast<Acc>(factor));
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    ProductState product = ProductOf(a);
    product.Add(ProductOf(b));
    return BitCast<Acc>(product);
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

// L2_NORM, VAR and STD of integers of 32 and 64 bits: the sum of up to 2^63 squares.
template <typename T>
struct WideSquares {
  struct Acc {
    std::uint64_t words[kSquareWords<T>];  // the lowest first
  };
  using State = Acc;

  WARPFOLD_HD static Acc Identity() { return {}; }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    using Size = std::make_unsigned_t<T>;
    auto size = static_cast<Size>(x);
    if constexpr (!kIsUnsigned<T>) size = x < 0 ? Size{0} - size : size;
    const uint128 square = uint128{size} * size;
    Acc added = {};
    added.words[0] = static_cast<std::uint64_t>(square);
    added.words[1] = static_cast<std::uint64_t>(square >> 64);
    a = Combine(a, added);
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    Acc sum;
    std::uint64_t carry = 0;
    WARPFOLD_UNROLL
    for (int w = 0; w < kSquareWords<T>; ++w) {
      const uint128 word = uint128{a.words[w]} + b.words[w] + carry;
      sum.words[w] = static_cast<std::uint64_t>(word);
      carry = static_cast<std::uint64_t>(word >> 64);
    }
    return sum;
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_COMPONENTS_H_
