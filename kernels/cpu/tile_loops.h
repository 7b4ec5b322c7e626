// The loops over a row tile that are compiled for every SIMD width and chosen at run time by what
// the processor has. All that they add are integers, so that bits do not depend on the width.
//
// Of MIN, MAX, ARGMIN and ARGMAX extremes.h has the loops, and these are null; of the sums of
// floats exact_sums.h has them.
#ifndef WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_

#include "kernels/cpu/loop_table.h"

namespace warpfold::cpu {

template <typename T, class Component>
struct TileLoop {
  // Of a row tile's first `count` elements, 1 to kTileElements<T>.
  typename Component::Acc (*fold)(const T* tile, int count);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
using TileLoopTable = ComponentLoops<TileLoop>;
const TileLoopTable& GetTileLoops();

// "AVX3", "AVX2", "NEON": the width in use, for logs and results of benchmarks.
const char* SimdTargetName();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
