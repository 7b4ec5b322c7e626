// What a thread joins in its registers, and which folds are compute-bound.
#ifndef WARPFOLD_KERNELS_CUDA_PAIRWISE_CUH_
#define WARPFOLD_KERNELS_CUDA_PAIRWISE_CUH_

#include <cstdint>

#include "kernels/components.h"
#include "kernels/exact/components.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// Whether a fold has so many components, or one so large, that straight code for it takes a
// compiler minutes and more registers than one of few.
template <class F>
inline constexpr bool kHasManyAccumulators =
    F::kComponents > 3 || F::template kHas<exact::ExactProduct<typename F::Element>>;
// Whether a fold looks for indices, each in a further pass.
template <class F>
inline constexpr bool kHasIndices = F::template kHas<ArgMin<typename F::Element>>;
// Whether a fold's arithmetic takes about as long as its elements take to arrive, by its components
// or its passes: there is little to gain then from straight code for many elements a thread, which
// is large.
template <class F>
inline constexpr bool kIsComputeBound = kHasManyAccumulators<F> || kHasIndices<F>;

// leaf(first) ... leaf(first + kCount - 1), by neighbouring pairs, as straight code.
template <int kCount, typename Value, class Leaf, class Combine>
__device__ __forceinline__ Value FoldPairwise(std::int64_t first, const Leaf& leaf,
                                              const Combine& combine) {
  if constexpr (kCount == 1) {
    return leaf(first);
  } else {
    const Value left = FoldPairwise<kCount / 2, Value>(first, leaf, combine);
    return combine(left, FoldPairwise<kCount / 2, Value>(first + kCount / 2, leaf, combine));
  }
}

// The same of item(0) ... item(count - 1), one after another in a loop.
template <typename Value, class Item, class Combine>
__device__ __forceinline__ Value FoldInLoop(const Value& identity, int count, const Item& item,
                                            const Combine& combine) {
  Value folded = identity;
#pragma unroll 1
  for (int i = 0; i < count; ++i) folded = combine(folded, item(i));
  return folded;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PAIRWISE_CUH_
