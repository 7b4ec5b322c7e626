#include "kernels/cpu/exact_column_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_column_sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "kernels/cpu/column_strip-inl.h"
#include "kernels/cpu/error_free-inl.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns whose running values stay in the first-level cache.
constexpr std::int64_t kStrip = 512;

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

// f64: the error of each addition is added up beside the sum, and so is whether that ever erred.
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

  template <int kRows>
  HWY_INLINE void Touch(std::int64_t row) {
    const D d;
    const double* from = data + row * stride;
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      V high = hn::LoadU(d, sums.high + c);
      V low = hn::LoadU(d, sums.low + c);
      V bits_lost = hn::LoadU(d, lost + c);
      for (int r = 0; r < kRows; ++r) {
        const V error = AddTo(high, hn::LoadU(d, from + r * stride + c));
        bits_lost = hn::Or(bits_lost, AddTo(low, error));
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
void SumColumns(const T* data, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                const ColumnSums& sums) {
  ForEachStrip(data, stride, rows, columns, kStrip,
               [&](const T* from, std::int64_t step, std::int64_t first, std::int64_t count) {
                 std::conditional_t<std::is_same_v<T, double>, DoubleStrip, NarrowStrip<T>> strip(
                     from, step, count, {sums.high + first, sums.low + first, sums.fits + first});
                 TouchRows(strip, rows);
                 strip.Finish(rows);
               });
}

const ColumnSumLoopTable& AllColumnSumLoops() {
  static constexpr auto kLoops =
      ColumnSumLoopTable::Of([]<typename T>(TypeTag<ColumnSumLoop<T>>) { return &SumColumns<T>; });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllColumnSumLoops);
const ColumnSumLoopTable& GetColumnSumLoops() { return HWY_DYNAMIC_DISPATCH(AllColumnSumLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
