// The loops over columns that are compiled for every SIMD width and chosen at run time by what the
// processor has. Bits do not depend on the width: a column is in one lane of a vector, in order.
#ifndef WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_

#include <cstdint>

#include "kernels/components.h"

namespace warpfold::cpu {

// One component's loops over elements of T; Acc is Component::Acc.
template <typename T, class Component>
struct ColumnLoops {
  using Acc = typename Component::Acc;

  // out[c] = the leaf of column c: `rows` elements, 1 to kLeafRows, `stride` apart, in order, from
  // row `first_row` on. A row's number is its element's.
  void (*fold_leaf)(const T* data, std::int64_t stride, int first_row, int rows,
                    std::int64_t columns, Acc* out);

  // right[c] = Combine(left[c], right[c]), of which left is of rows further up.
  void (*combine)(const Acc* left, Acc* right, std::int64_t columns);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
template <typename T, class Component>
const ColumnLoops<T, Component>& GetColumnLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_
