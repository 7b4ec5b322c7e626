// The loops over columns that are compiled for every SIMD width and chosen at run time by what the
// processor has. Bits do not depend on the width: a column is in one lane of a vector, in order.
#ifndef WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_

#include <cstdint>

#include "kernels/cpu/loop_table.h"

namespace warpfold::cpu {

template <typename T, class Component>
struct ColumnLoop {
  // out[c] = column c's `rows` elements, 1 to kAccElementsMax and `stride` apart. A row's number is
  // its element's.
  void (*fold)(const T* data, std::int64_t stride, int rows, std::int64_t columns,
               typename Component::Acc* out);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
using ColumnLoopTable = ComponentLoops<ColumnLoop>;
const ColumnLoopTable& GetColumnLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_LOOPS_H_
