// Folds between the lanes of a warp.
#ifndef WARPFOLD_KERNELS_CUDA_WARP_CUH_
#define WARPFOLD_KERNELS_CUDA_WARP_CUH_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/canonical.h"
#include "kernels/components.h"

namespace warpfold::cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;

// Any trivially copyable value from the lane whose number differs in `lane_mask`. A word at a time
// only where there is no other way: nvcc 13.0 takes an array of words through local memory.
template <typename Value>
__device__ __forceinline__ Value ShuffleXor(const Value& value, int lane_mask) {
  if constexpr (sizeof(Value) == sizeof(std::uint32_t)) {
    return BitCast<Value>(__shfl_xor_sync(kFullWarp, BitCast<std::uint32_t>(value), lane_mask));
  } else if constexpr (sizeof(Value) == sizeof(std::uint64_t)) {
    using Bits = unsigned long long;
    return BitCast<Value>(__shfl_xor_sync(kFullWarp, BitCast<Bits>(value), lane_mask));
  } else {
    static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
    constexpr int kWords = sizeof(Value) / sizeof(std::uint32_t);
    std::uint32_t words[kWords];
    memcpy(words, &value, sizeof(Value));
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = __shfl_xor_sync(kFullWarp, words[w], lane_mask);
    Value other;
    memcpy(&other, words, sizeof(Value));
    return other;
  }
}

// Lanes by halves: the fold inside a row tile. `lanes` is a power of two; every group of that many
// neighbouring lanes folds on its own and all its lanes get the result.
template <class C>
__device__ __forceinline__ typename C::Acc FoldLanesByHalves(typename C::Acc acc, int lanes) {
  // Of int32 the order does not matter, and a warp has an instruction for it.
  if constexpr (std::is_same_v<typename C::Acc, std::int32_t> && kJoinOf<C> != Join::kOther) {
    if (lanes == kLanes) {
      if constexpr (kJoinOf<C> == Join::kAdd) return __reduce_add_sync(kFullWarp, acc);
      if constexpr (kJoinOf<C> == Join::kMin) return __reduce_min_sync(kFullWarp, acc);
      if constexpr (kJoinOf<C> == Join::kMax) return __reduce_max_sync(kFullWarp, acc);
    }
  }
  for (int half = lanes / 2; half > 0; half /= 2) acc = C::Combine(acc, ShuffleXor(acc, half));
  return acc;
}

// Neighbours first: the binary tree over an index, where lane numbers are indices in units of
// `stride` lanes.
template <class C>
__device__ __forceinline__ typename C::State FoldLanesByNeighbours(typename C::State state,
                                                                   int stride, int end) {
  for (int step = stride; step < end; step *= 2) state = C::Combine(state, ShuffleXor(state, step));
  return state;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_WARP_CUH_
