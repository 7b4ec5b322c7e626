// Bounded sums (exact/bounded.h) of columns side by side: of the elements, of their absolute values
// and of their squares. Safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_COLUMN_STATISTICS_H_
#define WARPFOLD_KERNELS_CPU_COLUMN_STATISTICS_H_

#include <cstdint>

#include "kernels/cpu/loop_table.h"
#include "kernels/exact/bounded.h"

namespace warpfold::cpu {

template <typename T>
using ColumnStatistics = typename exact::BoundedSumsAlone<T>::State;

template <typename T>
struct ColumnStatisticsLoop {
  // Of `rows` rows, 1 to kColumnSumRowsMax and `stride` elements apart, of `columns` columns: to as
  // many states. Where an element is NaN or infinite the sum of absolute values is not finite, and
  // nothing else of the state means anything.
  void (*fold)(const T* data, std::int64_t stride, std::int64_t rows, std::int64_t columns,
               ColumnStatistics<T>* states);
};

// The loops for this processor.
using ColumnStatisticsLoopTable =
    LoopTable<ColumnStatisticsLoop<Half>, ColumnStatisticsLoop<BFloat16>,
              ColumnStatisticsLoop<float>, ColumnStatisticsLoop<double>>;
const ColumnStatisticsLoopTable& GetColumnStatisticsLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_STATISTICS_H_
