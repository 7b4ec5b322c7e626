#include "kernels/cpu/column_loops.h"

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/each_loop.h"
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

// visit(0) ... visit(rows - 1); straight code for the rows of a whole leaf.
using WholeLeaf = std::integral_constant<int, kLeafRows>;
template <class Visit>
HWY_INLINE void ForEachRow(WholeLeaf, const Visit& visit) {
#pragma GCC unroll 8
  for (int row = 0; row < kLeafRows; ++row) visit(row);
}
template <class Visit>
HWY_INLINE void ForEachRow(int rows, const Visit& visit) {
  for (int row = 0; row < rows; ++row) visit(row);
}

template <class C>
struct Combining {
  using Acc = typename C::Acc;
  static void Combine(const Acc* HWY_RESTRICT left, Acc* HWY_RESTRICT right, std::int64_t columns) {
    for (std::int64_t c = 0; c < columns; ++c) right[c] = C::Combine(left[c], right[c]);
  }
};

// out[c] = Column::Fold(the elements of column c, ...), in registers where the leaf is whole.
template <class Column, typename T, typename Acc>
HWY_INLINE void FoldEachColumn(const T* HWY_RESTRICT data, std::int64_t stride, int first_row,
                               int rows, std::int64_t columns, Acc* HWY_RESTRICT out) {
  const T* HWY_RESTRICT first = data + first_row * stride;
  const auto fold = [&](auto rows_of_leaf) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out[c] = Column::Fold(first + c, stride, first_row, rows_of_leaf);
    }
  };
  if (rows == kLeafRows) {
    fold(WholeLeaf());
  } else {
    fold(rows);
  }
}

// The loops of a component that reads its elements once.
template <typename T, class C>
struct ColumnLoopsOf : Combining<C> {
  using Acc = typename C::Acc;

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    if (rows == kLeafRows) {
      FoldEachColumn<ColumnLoopsOf>(data, stride, first_row, rows, columns, out);
      return;
    }
    const T* HWY_RESTRICT first = data + first_row * stride;
    for (std::int64_t c = 0; c < columns; ++c) {
      Acc acc = C::Identity();
      AddElement<C>(acc, first[c], first_row);
      out[c] = acc;
    }
    for (int row = first_row + 1; row < first_row + rows; ++row) {
      const T* HWY_RESTRICT x = data + row * stride;
      for (std::int64_t c = 0; c < columns; ++c) AddElement<C>(out[c], x[c], row);
    }
  }

  template <typename Rows>
  static HWY_INLINE Acc Fold(const T* column, std::int64_t stride, int first_row, Rows rows) {
    Acc acc = C::Identity();
    ForEachRow(rows, [&](int row) { AddElement<C>(acc, column[row * stride], first_row + row); });
    return acc;
  }
};

// ARGMIN and ARGMAX of 64-bit elements, of which a key and a number do not fit in one integer:
// compilers have to be shown that each is chosen by itself. kOmits: without NaN.
template <typename T, class Best, bool kOmits>
struct IndexLoops {
  using Acc = typename Best::Acc;

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    FoldEachColumn<IndexLoops>(data, stride, first_row, rows, columns, out);
  }
  static void Combine(const Acc* HWY_RESTRICT left, Acc* HWY_RESTRICT right, std::int64_t columns) {
    for (std::int64_t c = 0; c < columns; ++c) right[c] = Better(left[c], right[c]);
  }

  template <typename Rows>
  static HWY_INLINE Acc Fold(const T* column, std::int64_t stride, int first_row, Rows rows) {
    Acc best = Of(column[0], first_row);
    ForEachRow(rows,
               [&](int row) { best = Better(best, Of(column[row * stride], first_row + row)); });
    return best;
  }

 private:
  static HWY_INLINE Acc Of(T x, int number) {
    const Acc one = Best::At(x, number);
    const bool is_missing = kOmits && IsNan(x);
    return {is_missing ? Best::kNone : one.key, is_missing ? Best::kNone : one.index};
  }
  // Of `earlier` elements and ones behind them.
  static HWY_INLINE Acc Better(const Acc& earlier, const Acc& later) {
    const bool is_later = later.key < earlier.key;
    return {is_later ? later.key : earlier.key, is_later ? later.index : earlier.index};
  }
};

template <typename T>
requires(kKeyBits<T> == 64) struct ColumnLoopsOf<T, ArgMin<T>> : IndexLoops<T, ArgMin<T>, false> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct ColumnLoopsOf<T, ArgMax<T>> : IndexLoops<T, ArgMax<T>, false> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct ColumnLoopsOf<T, OmitNan<ArgMin<T>>>
    : IndexLoops<T, ArgMin<T>, true> {
};
template <typename T>
requires(kKeyBits<T> == 64) struct ColumnLoopsOf<T, OmitNan<ArgMax<T>>>
    : IndexLoops<T, ArgMax<T>, true> {
};

template <typename T, class C>
const ColumnLoops<T, C>* Loops() {
  using L = ColumnLoopsOf<T, C>;
  static constexpr ColumnLoops<T, C> kLoops{&L::FoldLeaf, &L::Combine};
  return &kLoops;
}

#define WARPFOLD_LOOP(T, name, component, C) \
  const ColumnLoops<T, C>* component##ColumnsOf##name() { return Loops<T, C>(); }
WARPFOLD_LOOPS_OF_COLUMNS
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, component, C)                    \
  HWY_EXPORT(component##ColumnsOf##name);                       \
  template <>                                                   \
  const ColumnLoops<T, C>& GetColumnLoops<T, C>() {             \
    return *HWY_DYNAMIC_DISPATCH(component##ColumnsOf##name)(); \
  }
WARPFOLD_LOOPS_OF_COLUMNS
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
