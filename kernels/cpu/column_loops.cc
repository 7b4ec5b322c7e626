#include "kernels/cpu/column_loops.h"

#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/tiles.h"

// This file is compiled once for each SIMD target; the loops below are plain, and the compiler
// vectorises them at that target's width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/column_loops.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

// How a component adds up a column's elements; a number is a row.
template <typename T, class C>
struct Column : C {
  using Acc = typename C::Acc;
  static HWY_INLINE Acc First(T x, int number) {
    Acc acc = C::Identity();
    Add(acc, x, number);
    return acc;
  }
  static HWY_INLINE void Add(Acc& acc, T x, int number) { AddElement<C>(acc, x, number); }
};

// ARGMIN and ARGMAX of 64-bit elements, of which a key and a number do not fit in one integer:
// compilers have to be shown that each is chosen by itself. kOmits: without NaN.
template <typename T, class Best, bool kOmits>
struct IndexColumn {
  using Acc = typename Best::Acc;
  static HWY_INLINE Acc First(T x, int number) {
    const Acc one = Best::At(x, number);
    const bool is_missing = kOmits && IsNan(x);
    return {is_missing ? Best::kNone : one.key, is_missing ? Best::kNone : one.index};
  }
  static HWY_INLINE void Add(Acc& best, T x, int number) { best = Combine(best, First(x, number)); }
  // Of `earlier` elements and ones behind them.
  static HWY_INLINE Acc Combine(const Acc& earlier, const Acc& later) {
    const bool is_later = later.key < earlier.key;
    return {is_later ? later.key : earlier.key, is_later ? later.index : earlier.index};
  }
};

template <typename T>
requires(kKeyBits<T> == 64) struct Column<T, ArgMin<T>> : IndexColumn<T, ArgMin<T>, false> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct Column<T, ArgMax<T>> : IndexColumn<T, ArgMax<T>, false> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct Column<T, OmitNan<ArgMin<T>>> : IndexColumn<T, ArgMin<T>, true> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct Column<T, OmitNan<ArgMax<T>>> : IndexColumn<T, ArgMax<T>, true> {
};

// Rows [first, first + kRows) of every column; row 0 begins it. Straight code: running values are
// loaded and stored once for them, and compilers add up bytes as bytes.
template <class Of, int kRows, bool kBegins, typename T, typename Acc>
HWY_INLINE void AddRows(const T* HWY_RESTRICT data, std::int64_t stride, int first,
                        std::int64_t columns, Acc* HWY_RESTRICT out) {
  const T* HWY_RESTRICT rows = data + first * stride;
  for (std::int64_t c = 0; c < columns; ++c) {
    Acc acc = Of::First(rows[c], first);
#pragma GCC unroll 8
    for (int r = 1; r < kRows; ++r) Of::Add(acc, rows[r * stride + c], first + r);
    out[c] = kBegins ? acc : Of::Combine(out[c], acc);
  }
}

template <typename T, class C>
void FoldColumns(const T* HWY_RESTRICT data, std::int64_t stride, int rows, std::int64_t columns,
                 typename C::Acc* HWY_RESTRICT out) {
  using Of = Column<T, C>;
  int row = 0;
  if (rows >= kLeafRows) {
    AddRows<Of, kLeafRows, true>(data, stride, 0, columns, out);
    for (row = kLeafRows; row + kLeafRows <= rows; row += kLeafRows) {
      AddRows<Of, kLeafRows, false>(data, stride, row, columns, out);
    }
  } else {
    AddRows<Of, 1, true>(data, stride, 0, columns, out);
    row = 1;
  }
  for (; row < rows; ++row) AddRows<Of, 1, false>(data, stride, row, columns, out);
}

const ColumnLoopTable& AllColumnLoops() {
  static constexpr auto kLoops = ColumnLoopTable::Of(
      []<typename T, class C>(TypeTag<ColumnLoop<T, C>>) { return &FoldColumns<T, C>; });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllColumnLoops);
const ColumnLoopTable& GetColumnLoops() { return HWY_DYNAMIC_DISPATCH(AllColumnLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
