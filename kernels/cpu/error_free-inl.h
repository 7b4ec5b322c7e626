// Float64 operations in vectors whose rounding errors are numbers, too. Of Highway's kind: included
// once for each SIMD target, after foreach_target.h.
#if defined(WARPFOLD_KERNELS_CPU_ERROR_FREE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_KERNELS_CPU_ERROR_FREE_INL_H_
#undef WARPFOLD_KERNELS_CPU_ERROR_FREE_INL_H_
#else
#define WARPFOLD_KERNELS_CPU_ERROR_FREE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds x to `sum`. Returns what that was rounded by, which is exact where nothing overflows
// (Knuth's TwoSum).
HWY_INLINE V AddTo(V& sum, V x) {
  const V total = hn::Add(sum, x);
  const V added = hn::Sub(total, sum);
  const V error = hn::Add(hn::Sub(sum, hn::Sub(total, added)), hn::Sub(x, added));
  sum = total;
  return error;
}

// x * x is product + rest.
struct SquareParts {
  V product;
  V rest;
};
HWY_INLINE SquareParts SquareOf(V x) {
  const V product = hn::Mul(x, x);
#if HWY_NATIVE_FMA
  return {product, hn::MulSub(x, x, product)};
#else  // Dekker's: halves of 26 bits, whose products are exact
  const V scaled = hn::Mul(x, hn::Set(D(), 134217729.0));  // 2^27 + 1
  const V high = hn::Sub(scaled, hn::Sub(scaled, x));
  const V low = hn::Sub(x, high);
  const V cross = hn::Mul(high, low);
  const V rest = hn::Add(hn::Sub(hn::Mul(high, high), product), hn::Add(cross, cross));
  return {product, hn::Add(rest, hn::Mul(low, low))};
#endif
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_ERROR_FREE_INL_H_
