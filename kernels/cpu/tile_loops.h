// The loops over a row tile that are compiled for every SIMD width and chosen at run time by what
// the processor has. All that they add are integers, so that bits do not depend on the width.
//
// Of MIN, MAX, ARGMIN and ARGMAX extremes.h has the loops, of the sums of floats exact_sums.h.
#ifndef WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_

#include <type_traits>

#include "kernels/components.h"

namespace warpfold::cpu {

// What folds a row tile's first `count` elements, 1 to kTileElements<T>.
template <typename T, class Component>
using TileLoop = typename Component::Acc(const T* tile, int count);

// The loop for this processor. Cheap after the first call; safe from any thread.
template <typename T, class Component>
TileLoop<T, Component>* GetTileLoop();

// "AVX3", "AVX2", "NEON": the width in use, for logs and results of benchmarks.
const char* SimdTargetName();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
