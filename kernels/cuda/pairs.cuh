// The binary tree over neighbouring pairs, inside a thread.
#ifndef WARPFOLD_KERNELS_CUDA_PAIRS_CUH_
#define WARPFOLD_KERNELS_CUDA_PAIRS_CUH_

#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/components.h"
#include "kernels/exact/components.h"

namespace warpfold::cuda {

// Whether a fold has so many components, or one so large, that straight code for it takes a
// compiler minutes and more registers than a light one's.
template <class F>
inline constexpr bool kIsHeavy =
    F::kComponents > 3 || F::template kHas<exact::ExactProduct<typename F::Element>>;
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

// The same in a loop: one value for each level of the tree over up to kCountMax leaves.
template <typename Value, int kCountMax>
struct PairStack {
  Value levels[kPairLevels<kCountMax>];

  // Of the kCount leaves from `first` on, a multiple of it and the number of leaves so far: their
  // fold.
  template <int kCount, class Combine>
  __device__ __forceinline__ void Push(int first, Value value, const Combine& combine) {
    int level = kPairLevels<kCount> - 1;
#pragma unroll 1
    for (; (first >> level) & 1; ++level) value = combine(levels[level], value);
    levels[level] = value;
  }
  // Of `count` leaves, a power of two.
  __device__ __forceinline__ const Value& Top(int count) const {
    int top = 0;
    while ((1 << top) < count) ++top;
    return levels[top];
  }
};

// The same of one value at a time, with the levels in registers: straight code for each.
template <typename Value, int kCountMax>
struct RegisterPairStack {
  static constexpr int kLevels = kPairLevels<kCountMax>;
  Value levels[kLevels];

  template <class Combine>
  __device__ __forceinline__ void Push(int index, Value value, const Combine& combine) {
    const int free = __ffs(~index) - 1;
#pragma unroll
    for (int level = 0; level < kLevels; ++level) {
      if (level < free) {
        value = combine(levels[level], value);
      } else if (level == free) {
        levels[level] = value;
      }
    }
  }
  // Of `count` values, a power of two.
  __device__ __forceinline__ Value Top(int count) const {
    Value top = levels[0];
#pragma unroll
    for (int level = 1; level < kLevels; ++level) {
      if (count >> level != 0) top = levels[level];
    }
    return top;
  }
};

// leaf(first) ... leaf(first + count - 1) in a loop; `count` <= kCountMax, both powers of two.
template <int kCountMax, typename Value, class Leaf, class Combine>
__device__ __forceinline__ Value FoldPairsInLoop(std::int64_t first, int count, const Leaf& leaf,
                                                 const Combine& combine) {
  PairStack<Value, kCountMax> stack;
#pragma unroll 1
  for (int i = 0; i < count; ++i) stack.template Push<1>(i, leaf(first + i), combine);
  return stack.Top(count);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PAIRS_CUH_
