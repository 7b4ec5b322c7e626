#include "kernels/cpu/exact_column_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/each_loop.h"
#include "kernels/element.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_column_sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns whose running values stay in the first-level cache.
constexpr std::int64_t kStrip = 512;

// Calls strip.Touch<rows>(c, first row, columns) for all rows: 8 at a time, as many streams as the
// processor reads ahead, so that running values are loaded and stored once for 8 elements. f32 in
// 4,096 columns: 16 at a time took half as long again (one core of an EPYC, Zen 4, 2026-11-24).
template <class Strip>
HWY_INLINE void TouchRows(Strip& strip, std::int64_t rows) {
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) strip.template Touch<8>(row);
  for (; row < rows; ++row) strip.template Touch<1>(row);
}

// f32, bf16 and f16: plain float64 additions, which are exact where a column's exponents lie close
// together.
template <typename T>
struct NarrowStrip : NarrowElements<T, false> {
  using N = NarrowElements<T, false>;
  using Bits = typename N::Bits;
  using BitsTag = hn::Rebind<Bits, D>;  // as many as there are float64 lanes
  static constexpr bool kAlwaysFits =
      53 - N::kPrecision - std::countr_zero(static_cast<std::uint64_t>(kColumnSumRowsMax)) >=
      N::kExponentMask - 2;

  const T* data;
  std::int64_t stride;
  std::int64_t columns;
  ColumnSums sums;
  alignas(64) Bits largest[kStrip];
  alignas(64) Bits smallest_less_one[kStrip];

  NarrowStrip(const T* data, std::int64_t stride, std::int64_t columns, const ColumnSums& sums)
      : data(data), stride(stride), columns(columns), sums(sums) {
    std::fill_n(sums.high, columns, -0.0);
    std::fill_n(sums.low, columns, 0.0);
    std::fill_n(largest, columns, Bits{0});
    std::fill_n(smallest_less_one, columns, static_cast<Bits>(~Bits{0}));
  }

  template <int kRows>
  HWY_INLINE void Touch(std::int64_t row) {
    const D d;
    const BitsTag bits;
    const T* from = data + row * stride;
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      V sum = hn::LoadU(d, sums.high + c);
      auto high = hn::LoadU(bits, largest + c);
      auto low = hn::LoadU(bits, smallest_less_one + c);
      for (int r = 0; r < kRows; ++r) {
        const T* x = from + r * stride + c;
        sum = hn::Add(sum, N::Load(x));
        if constexpr (!kAlwaysFits) {
          const auto magnitude = N::LoadMagnitude(bits, x);
          high = hn::Max(high, magnitude);
          low = hn::Min(low, hn::Sub(magnitude, hn::Set(bits, Bits{1})));
        }
      }
      hn::StoreU(sum, d, sums.high + c);
      hn::StoreU(high, bits, largest + c);
      hn::StoreU(low, bits, smallest_less_one + c);
    }
  }

  void Finish(std::int64_t rows) const {
    const int window =
        53 - N::kPrecision - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)));
    for (std::int64_t c = 0; c < columns; ++c) {
      if constexpr (kAlwaysFits) {
        sums.fits[c] = std::isfinite(sums.high[c]) ? 1 : 0;
      } else {
        const int high = std::max(static_cast<int>(largest[c] >> (N::kStored + 1)), 1);
        const auto smallest = static_cast<Bits>(smallest_less_one[c] + 1);  // 0 of zeros alone
        const int low =
            smallest == 0 ? high : std::max(static_cast<int>(smallest >> (N::kStored + 1)), 1);
        sums.fits[c] = high < N::kExponentMask && high - low <= window ? 1 : 0;
      }
    }
  }
};

// f64: the error of each addition, itself a float64 number (Knuth's TwoSum), is added up beside the
// sum, and so is whether that ever erred.
struct DoubleStrip {
  const double* data;
  std::int64_t stride;
  std::int64_t columns;
  ColumnSums sums;
  alignas(64) double lost[kStrip];  // a number that is not 0, once something was

  DoubleStrip(const double* data, std::int64_t stride, std::int64_t columns, const ColumnSums& sums)
      : data(data), stride(stride), columns(columns), sums(sums) {
    std::fill_n(sums.high, columns, -0.0);
    std::fill_n(sums.low, columns, 0.0);
    std::fill_n(lost, columns, 0.0);
  }

  // sum + x to sum, and its error.
  static HWY_INLINE V Add(V& sum, V x) {
    const V total = hn::Add(sum, x);
    const V added = hn::Sub(total, sum);
    const V error = hn::Add(hn::Sub(sum, hn::Sub(total, added)), hn::Sub(x, added));
    sum = total;
    return error;
  }

  template <int kRows>
  HWY_INLINE void Touch(std::int64_t row) {
    const D d;
    const double* from = data + row * stride;
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      V high = hn::LoadU(d, sums.high + c);
      V low = hn::LoadU(d, sums.low + c);
      V bits_lost = hn::LoadU(d, lost + c);
      for (int r = 0; r < kRows; ++r) {
        const V error = Add(high, hn::LoadU(d, from + r * stride + c));
        bits_lost = hn::Or(bits_lost, Add(low, error));
      }
      hn::StoreU(high, d, sums.high + c);
      hn::StoreU(low, d, sums.low + c);
      hn::StoreU(bits_lost, d, lost + c);
    }
  }

  void Finish(std::int64_t) const {
    // An infinity makes errors NaN.
    for (std::int64_t c = 0; c < columns; ++c) sums.fits[c] = lost[c] == 0 ? 1 : 0;
  }
};

template <typename T>
std::int64_t SumColumns(const T* data, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                        const ColumnSums& sums) {
  const std::int64_t whole = columns / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kStrip) {
    std::conditional_t<std::is_same_v<T, double>, DoubleStrip, NarrowStrip<T>> strip(
        data + c, stride, std::min(kStrip, whole - c),
        {sums.high + c, sums.low + c, sums.fits + c});
    TouchRows(strip, rows);
    strip.Finish(rows);
  }
  return whole;
}

#define WARPFOLD_LOOP(T, name, omits_nan) \
  ColumnSumLoop<T> ColumnSumLoopFor##name() { return &SumColumns<T>; }
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITH_NAN)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, omits_nan)                  \
  HWY_EXPORT(ColumnSumLoopFor##name);                      \
  template <>                                              \
  ColumnSumLoop<T> GetColumnSumLoop<T>() {                 \
    return HWY_DYNAMIC_DISPATCH(ColumnSumLoopFor##name)(); \
  }
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITH_NAN)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
