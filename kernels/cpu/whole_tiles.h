// Row tiles of floats that are whole, folded in vector registers. What reading a tensor through the
// general loops (simd.h) costs most is the running values of 128 to 256 columns: they go through
// the first-level cache, and their stores keep the processor from reading ahead. Safe from any
// thread.
#ifndef WARPFOLD_KERNELS_CPU_WHOLE_TILES_H_
#define WARPFOLD_KERNELS_CPU_WHOLE_TILES_H_

namespace warpfold::cpu {

struct FloatSums {
  double sum = 0;
  double abs_sum = 0;
  double square_sum = 0;
};

// Of the kTileElements<T> elements at `tile`, in the canonical order; kOmitsNan: of those that are
// numbers.
template <typename T, bool kOmitsNan>
struct WholeTileLoops {
  double (*sum)(const T* tile);
  // Of each what the component of that name comes to.
  FloatSums (*sums)(const T* tile);
  // The squares of the deviations from `mean`, added up.
  double (*deviations)(const T* tile, double mean);
};

// The loops for this processor; null where it has no fused multiply-add.
template <typename T, bool kOmitsNan>
const WholeTileLoops<T, kOmitsNan>* GetWholeTileLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_WHOLE_TILES_H_
