// The binary tree over neighbouring pairs, inside a thread.
#ifndef WARPFOLD_KERNELS_CUDA_PAIRS_CUH_
#define WARPFOLD_KERNELS_CUDA_PAIRS_CUH_

#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/components.h"

namespace warpfold::cuda {

// Whether a fold has so many components that straight code for it takes a compiler minutes and more
// registers than a light one's.
template <class F>
inline constexpr bool kIsHeavy = F::kComponents > 3;
// Whether a fold looks for places, each in a further sweep.
template <class F>
inline constexpr bool kHasIndices = F::template kHas<ArgMin<typename F::Element>>;
// Whether a fold's arithmetic takes about as long as its elements take to arrive, by its components
// or its sweeps: there is little to gain then from straight code for many elements a thread, which
// is large.
template <class F>
inline constexpr bool kIsLong = kIsHeavy<F> || kHasIndices<F>;

// leaf(first) ... leaf(first + kCount - 1), by neighbouring pairs, as straight code.
template <int kCount, typename Value, class Leaf, class Combine>
__device__ __forceinline__ Value FoldPairs(std::int64_t first, const Leaf& leaf,
                                           const Combine& combine) {
  if constexpr (kCount == 1) {
    return leaf(first);
  } else {
    const Value left = FoldPairs<kCount / 2, Value>(first, leaf, combine);
    return combine(left, FoldPairs<kCount / 2, Value>(first + kCount / 2, leaf, combine));
  }
}

// Levels of the tree over kCount leaves. Here, because nvcc 13.0 takes no call of a host function
// in device code, constant or not.
template <int kCount>
inline constexpr int kPairLevels = StackLevels(kCount);

// The same for `count` <= kCountMax leaves, both powers of two, as a loop with one value for each
// level of the tree.
template <int kCountMax, typename Value, class Leaf, class Combine>
__device__ __forceinline__ Value FoldPairsInLoop(std::int64_t first, int count, const Leaf& leaf,
                                                 const Combine& combine) {
  Value levels[kPairLevels<kCountMax>];
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    Value value = leaf(first + i);
    int level = 0;
#pragma unroll 1
    for (; (i >> level) & 1; ++level) value = combine(levels[level], value);
    levels[level] = value;
  }
  int top = 0;
  while ((1 << top) < count) ++top;
  return levels[top];
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PAIRS_CUH_
