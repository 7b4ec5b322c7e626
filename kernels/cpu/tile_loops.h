// The loops over a row tile that are compiled for every SIMD width and chosen at run time by what
// the processor has. All that they add are integers, so that bits do not depend on the width.
//
// Of MIN, MAX, ARGMIN and ARGMAX extremes.h has the loops, and these are null; of the sums of
// floats exact_sums.h has them.
#ifndef WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_

#include <cstdint>

#include "kernels/cpu/loop_table.h"
#include "kernels/exact/sums.h"

namespace warpfold::cpu {

template <typename T, class Component>
struct TileLoop {
  // Of a row tile's first `count` elements, 1 to kTileElements<T>.
  typename Component::Acc (*fold)(const T* tile, int count);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
using TileLoopTable = ComponentLoops<TileLoop>;
const TileLoopTable& GetTileLoops();

// The squares of integers of 32 and 64 bits, which no component of the CPU adds up.
template <typename T>
using SquareSums = exact::SumsState<T, exact::Sums::kStatistics>;
template <typename T>
struct SquareLoop {
  // Adds those of `count` elements, at most 2^31.
  void (*add)(const T* elements, std::int64_t count, SquareSums<T>& sums);
};
using SquareLoopTable = LoopTable<SquareLoop<std::int32_t>, SquareLoop<std::uint32_t>,
                                  SquareLoop<std::int64_t>, SquareLoop<std::uint64_t>>;
const SquareLoopTable& GetSquareLoops();

// "AVX3", "AVX2", "NEON": the width in use, for logs and results of benchmarks.
const char* SimdTargetName();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TILE_LOOPS_H_
