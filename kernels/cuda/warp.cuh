// Folds between the lanes of a warp.
#ifndef WARPFOLD_KERNELS_CUDA_WARP_CUH_
#define WARPFOLD_KERNELS_CUDA_WARP_CUH_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;

// A value's words, one after another. Not an array, which nvcc 13.0 takes through local memory:
// 64-bit integers' sums and extrema, whose states are 16 bytes, took 1.6 times as long (H200,
// 2026-11-21).
template <int kCount>
struct Words {
  std::uint32_t first;
  Words<kCount - 1> others;

  __device__ __forceinline__ Words ShuffledXor(int lane_mask) const {
    return {__shfl_xor_sync(kFullWarp, first, lane_mask), others.ShuffledXor(lane_mask)};
  }
};
template <>
struct Words<1> {
  std::uint32_t first;

  __device__ __forceinline__ Words ShuffledXor(int lane_mask) const {
    return {__shfl_xor_sync(kFullWarp, first, lane_mask)};
  }
};

// Any trivially copyable value from the lane whose number differs in `lane_mask`.
template <typename Value>
__device__ __forceinline__ Value ShuffleXor(const Value& value, int lane_mask) {
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  using ValueWords = Words<sizeof(Value) / sizeof(std::uint32_t)>;
  return BitCast<Value>(BitCast<ValueWords>(value).ShuffledXor(lane_mask));
}

// A sum over the lanes of one row, all of which get it.
template <int kRowLanes>
__device__ __forceinline__ std::int64_t AddOverRow(std::int64_t mine) {
#pragma unroll
  for (int half = kRowLanes / 2; half > 0; half /= 2) mine += ShuffleXor(mine, half);
  return mine;
}

// Folds of a 32-bit integer over the warp, whose lanes all get the result: one instruction from 8.0
// on, shuffles before.
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
__device__ __forceinline__ std::int32_t AddOverWarp(std::int32_t mine) {
  return __reduce_add_sync(kFullWarp, mine);
}
template <typename Int>
__device__ __forceinline__ Int MinOverWarp(Int mine) {
  return __reduce_min_sync(kFullWarp, mine);
}
template <typename Int>
__device__ __forceinline__ Int MaxOverWarp(Int mine) {
  return __reduce_max_sync(kFullWarp, mine);
}
__device__ __forceinline__ std::uint32_t OrOverWarp(std::uint32_t mine) {
  return __reduce_or_sync(kFullWarp, mine);
}
#else
template <typename Int, class Join>
__device__ __forceinline__ Int FoldOverWarp(Int mine, const Join& join) {
#pragma unroll
  for (int half = kLanes / 2; half > 0; half /= 2) {
    mine = join(mine, __shfl_xor_sync(kFullWarp, mine, half));
  }
  return mine;
}
__device__ __forceinline__ std::int32_t AddOverWarp(std::int32_t mine) {
  // Unsigned, whose overflow wraps as the instruction's does.
  return static_cast<std::int32_t>(FoldOverWarp(
      static_cast<std::uint32_t>(mine), [](std::uint32_t a, std::uint32_t b) { return a + b; }));
}
template <typename Int>
__device__ __forceinline__ Int MinOverWarp(Int mine) {
  return FoldOverWarp(mine, [](Int a, Int b) { return a < b ? a : b; });
}
template <typename Int>
__device__ __forceinline__ Int MaxOverWarp(Int mine) {
  return FoldOverWarp(mine, [](Int a, Int b) { return a > b ? a : b; });
}
__device__ __forceinline__ std::uint32_t OrOverWarp(std::uint32_t mine) {
  return FoldOverWarp(mine, [](std::uint32_t a, std::uint32_t b) { return a | b; });
}
#endif

// The least of the warp's: the high words decide, and the low words among those that share the
// least.
__device__ __forceinline__ std::int64_t LeastOfWarp(std::int64_t mine) {
  const auto high = static_cast<std::int32_t>(mine >> 32);
  const auto low = static_cast<std::uint32_t>(mine);
  const std::int32_t least_high = MinOverWarp(high);
  const std::uint32_t least_low = MinOverWarp(high == least_high ? low : ~std::uint32_t{0});
  return std::int64_t{least_high} << 32 | least_low;
}

// Lanes by halves: the fold inside a row tile. `lanes` is a power of two; every group of that many
// neighbouring lanes folds on its own and all its lanes get the result.
template <class C>
__device__ __forceinline__ typename C::Acc FoldLanesByHalves(typename C::Acc acc, int lanes) {
  // Of integers the order does not matter, and a warp has instructions for some.
  if constexpr (std::is_same_v<typename C::Acc, std::int32_t> && kJoinOf<C> != Join::kOther) {
    if (lanes == kLanes) {
      if constexpr (kJoinOf<C> == Join::kAdd) return AddOverWarp(acc);
      if constexpr (kJoinOf<C> == Join::kMin) return MinOverWarp(acc);
      if constexpr (kJoinOf<C> == Join::kMax) return MaxOverWarp(acc);
    }
  }
  if constexpr (std::is_same_v<typename C::Acc, std::int64_t>) {
    if constexpr (kJoinOf<C> == Join::kMin) {
      if (lanes == kLanes) return LeastOfWarp(acc);
    }
    if constexpr (kJoinOf<C> == Join::kMax) {
      if (lanes == kLanes) return ~LeastOfWarp(~acc);
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
