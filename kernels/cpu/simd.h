// The inner loops of the CPU backend, compiled for every SIMD width and chosen at run time by what
// the processor has. Bits do not depend on the width: a lane of a vector only ever adds what the
// canonical order says it adds.
#ifndef WARPFOLD_KERNELS_CPU_SIMD_H_
#define WARPFOLD_KERNELS_CPU_SIMD_H_

#include <cstdint>
#include <type_traits>

#include "kernels/components.h"

namespace warpfold::cpu {

// MIN, MAX, ARGMIN and ARGMAX, of whose tiles extremes.h has the loops.
template <class C>
inline constexpr bool kIsExtreme = kJoinOf<C> == Join::kMin || kJoinOf<C> == Join::kMax;

// What folds a row tile's first `count` elements, 1 to kTileElements<T>; null of extremes. Of
// moments, which read their elements twice: the second time, the squares of the deviations from
// `mean`, added up.
template <typename T, class Component>
struct TileFold {
  using Function = typename Component::Acc(const T* tile, int count);
};
template <typename T, class Component>
requires std::is_base_of_v<Moments<T>, Component>
struct TileFold<T, Component> {
  using Function = double(const T* tile, int count, double mean);
};

// One component's loops over elements of T; Acc is Component::Acc.
template <typename T, class Component>
struct SimdLoops {
  using Acc = typename Component::Acc;

  typename TileFold<T, Component>::Function* fold_tile;

  // out[c] = the leaf of column c: `rows` elements, 1 to kLeafRows, `stride` apart, in order, from
  // row `first_row` on. A row's number is its element's.
  void (*fold_leaf)(const T* data, std::int64_t stride, int first_row, int rows,
                    std::int64_t columns, Acc* out);

  // right[c] = Combine(left[c], right[c]).
  void (*combine)(const Acc* left, Acc* right, std::int64_t columns);
};

// The loops for this processor. Cheap after the first call; safe from any thread.
template <typename T, class Component>
const SimdLoops<T, Component>& GetSimdLoops();

// "AVX3", "AVX2", "NEON": the width in use, for logs and results of benchmarks.
const char* SimdTargetName();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_SIMD_H_
