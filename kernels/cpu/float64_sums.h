// What a row tile adds up to in float64, or multiplies to, in vector registers. What reading a
// tensor through the general loops (tile_loops.h) costs most is the running values of 128 to 256
// columns: they go through the first-level cache, and their stores keep the processor from reading
// ahead. Safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_FLOAT64_SUMS_H_
#define WARPFOLD_KERNELS_CPU_FLOAT64_SUMS_H_

#include <cstdint>

namespace warpfold::cpu {

struct FloatSums {
  double sum = 0;
  double abs_sum = 0;
  double square_sum = 0;
};

// Of a tile's `count` elements, 1 to kTileElements<T>, in the canonical order; kOmitsNan: of those
// that are numbers. Each is what the component of that name comes to. T is a float, or an integer
// whose squares are not exact.
template <typename T, bool kOmitsNan>
struct Float64Loops {
  // Of floats; null for integers.
  double (*sum)(const T* tile, int count);
  FloatSums (*sums)(const T* tile, int count);
  double (*product)(const T* tile, int count);
  // Of integers; null for floats.
  double (*square_sum)(const T* tile, int count);
  // The squares of the deviations from `mean`, added up.
  double (*deviations)(const T* tile, int count, double mean);
  // Of floats; null for integers. ColumnLoops::fold_leaf of their sum.
  void (*sum_columns)(const T* data, std::int64_t stride, int first_row, int rows,
                      std::int64_t columns, double* out);
};

// The loops for this processor; null where it has no fused multiply-add.
template <typename T, bool kOmitsNan>
const Float64Loops<T, kOmitsNan>* GetFloat64Loops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_FLOAT64_SUMS_H_
