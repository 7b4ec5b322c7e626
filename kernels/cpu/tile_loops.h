// The loops over a row tile that are compiled for every SIMD width and chosen at run time by what
// the processor has. Bits do not depend on the width: a lane of a vector only ever adds what the
// canonical order says it adds.
//
// Of MIN, MAX, ARGMIN and ARGMAX extremes.h has the loops, of most that come to a float64
// float64_sums.h faster ones.
#ifndef WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_

#include <type_traits>

#include "kernels/components.h"

namespace warpfold::cpu {

// What folds a row tile's first `count` elements, 1 to kTileElements<T>. Of moments, which read
// their elements twice: the second time, the squares of the deviations from `mean`, added up.
template <typename T, class Component>
struct TileLoopOfComponent {
  using Function = typename Component::Acc(const T* tile, int count);
};
template <typename T, class Component>
requires std::is_base_of_v<Moments<T>, Component>
struct TileLoopOfComponent<T, Component> {
  using Function = double(const T* tile, int count, double mean);
};
template <typename T, class Component>
using TileLoop = typename TileLoopOfComponent<T, Component>::Function;

// The loop for this processor. Cheap after the first call; safe from any thread.
template <typename T, class Component>
TileLoop<T, Component>* GetTileLoop();

// "AVX3", "AVX2", "NEON": the width in use, for logs and results of benchmarks.
const char* SimdTargetName();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
