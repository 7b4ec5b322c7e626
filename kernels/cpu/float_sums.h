// The sums of a row tile of floats, folded in vector registers. What reading a tensor through the
// general loops (simd.h) costs most is the running values of 128 to 256 columns: they go through
// the first-level cache, and their stores keep the processor from reading ahead. Safe from any
// thread.
#ifndef WARPFOLD_KERNELS_CPU_FLOAT_SUMS_H_
#define WARPFOLD_KERNELS_CPU_FLOAT_SUMS_H_

namespace warpfold::cpu {

struct FloatSums {
  double sum = 0;
  double abs_sum = 0;
  double square_sum = 0;
};

// Of a tile's `count` elements, 1 to kTileElements<T>, in the canonical order; kOmitsNan: of those
// that are numbers.
template <typename T, bool kOmitsNan>
struct FloatSumLoops {
  double (*sum)(const T* tile, int count);
  // Of each what the component of that name comes to.
  FloatSums (*sums)(const T* tile, int count);
  // The squares of the deviations from `mean`, added up.
  double (*deviations)(const T* tile, int count, double mean);
};

// The loops for this processor; null where it has no fused multiply-add.
template <typename T, bool kOmitsNan>
const FloatSumLoops<T, kOmitsNan>* GetFloatSumLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_FLOAT_SUMS_H_
