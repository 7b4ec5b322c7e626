// The smaller and the larger of two floats in integer arithmetic: the same bits on every processor.
#ifndef WARPFOLD_TESTS_KERNELS_EXTREME_H_
#define WARPFOLD_TESTS_KERNELS_EXTREME_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"

namespace warpfold {

// -0.0 is below +0.0. kOmitsNan: of a NaN and a number the number; otherwise NaN if either is. The
// NaN is the one that PTX's min and max give: all bits but the sign.
template <bool kIsMin, bool kOmitsNan, typename T>
WARPFOLD_HD T ExtremeByKey(T a, T b) {
  if (IsNan(a) || IsNan(b)) {
    if (!kOmitsNan || (IsNan(a) && IsNan(b))) {
      using Bits = internal::SameSizeInt<T>;
      const Bits nan = internal::kAllButSign<Bits>;  // by value: device code has no address of it
      return BitCast<T>(nan);
    }
    return IsNan(a) ? b : a;
  }
  return (ToKey(a) < ToKey(b)) == kIsMin ? a : b;
}

// The same of two halves each.
template <bool kIsMin, bool kOmitsNan>
WARPFOLD_HD std::uint32_t ExtremePairByKey(std::uint32_t a, std::uint32_t b) {
  const auto extreme = [&](int shift) {
    const Half of_a{static_cast<std::uint16_t>(a >> shift)};
    const Half of_b{static_cast<std::uint16_t>(b >> shift)};
    return std::uint32_t{ExtremeByKey<kIsMin, kOmitsNan>(of_a, of_b).bits} << shift;
  };
  return extreme(0) | extreme(16);
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_KERNELS_EXTREME_H_
