// How columns side by side are read: in strips, some rows at a time. Of Highway's kind: included
// once for each SIMD target, after foreach_target.h.
#if defined(WARPFOLD_KERNELS_CPU_COLUMN_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_KERNELS_CPU_COLUMN_STRIP_INL_H_
#undef WARPFOLD_KERNELS_CPU_COLUMN_STRIP_INL_H_
#else
#define WARPFOLD_KERNELS_CPU_COLUMN_STRIP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/exact_column_sums.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

// Calls strip.Touch<rows>(first row) for all rows: 8 at a time, as many streams as the
// processor reads ahead, so that running values are loaded and stored once for 8 elements. f32 in
// 4,096 columns: 16 at a time took half as long again (one core of an EPYC, Zen 4, 2026-11-24).
template <class Strip>
HWY_INLINE void TouchRows(Strip& strip, std::int64_t rows) {
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) strip.template Touch<8>(row);
  for (; row < rows; ++row) strip.template Touch<1>(row);
}

// Calls fold(data, stride, first column, columns) for one strip after another: up to `strip`
// columns, whole vectors of them. The last one's are filled up with zeros.
template <typename T, class FoldStrip>
HWY_INLINE void ForEachStrip(const T* data, std::int64_t stride, std::int64_t rows,
                             std::int64_t columns, std::int64_t strip, const FoldStrip& fold) {
  static_assert(kLanes <= kColumnsPadding);
  const std::int64_t whole = columns / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += strip) {
    fold(data + c, stride, c, std::min(strip, whole - c));
  }
  if (whole == columns) return;
  T padded[kColumnSumRowsMax * kLanes];
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* const row = data + r * stride;
    std::fill(std::copy(row + whole, row + columns, padded + r * kLanes), padded + (r + 1) * kLanes,
              T{});
  }
  fold(padded, std::int64_t{kLanes}, whole, std::int64_t{kLanes});
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_STRIP_INL_H_
