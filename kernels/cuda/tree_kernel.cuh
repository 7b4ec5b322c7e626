// Folds along an index whose neighbours are `inner` apart: the first pass over columns, and the
// second pass over partials.
//
// A thread folds `kLeaves` neighbouring leaves in registers, threads y fold through shuffles and
// then shared memory: one binary tree over the leaf index, whatever the block's shape.
// No result depends on that order.
#ifndef WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
#define WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/cuda/column_leaves.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/sink.cuh"
#include "kernels/cuda/warp.cuh"

namespace warpfold::cuda {

// Leaves of a state array: one state each.
template <class F>
struct StateLeaves {
  using Fold = F;
  using Value = typename F::State;
  static constexpr bool kReadsStates = true;
  static constexpr bool kLoops = kIsHeavy<F>;
  static constexpr int kVector = 1;
  static constexpr int kRows = 1;
  static constexpr int kSharedBytesPerThread = 0;
  const typename F::State* data;
  std::int64_t count;
  std::int64_t inner;
  PartialOrder order;

  __device__ void Advance(std::int64_t states) { data += states; }
  __device__ static Value Identity() { return F::IdentityState(); }
  __device__ static typename F::State Promote(const Value& value, std::int64_t, int) {
    return value;
  }
  // Loads something in any case: behind a branch, each load would wait for the one before it.
  // 16,384 partials of a sum took 5.7 us so (H200, 2026-11-22).
  // Not by value: nvcc 13.0 then loads a state's padding too, which nobody has written.
  __device__ void Load(std::int64_t leaf, Value (&out)[1]) const {
    const bool exists = leaf < count;
    const Value loaded = data[order.Slot(exists ? leaf : 0) * inner];
    out[0] = exists ? loaded : Identity();
  }
};

// Threads of a block at most, and how many such blocks an SM is to hold.
struct TreeBounds {
  int threads;
  int blocks_per_sm;
};

// Of `kLeaves` states, those that a thread loads before it joins any: what 64 registers hold.
template <class State, int kLeaves>
inline constexpr int kStatesOnTheirWay =
    std::min(kLeaves, static_cast<int>(std::bit_floor(256 / sizeof(State))));
// The same of a thread's leaves of columns.
template <class Leaves, int kLeaves>
inline constexpr int kLeavesOnTheirWay = std::min(kLeaves, Leaves::kLeavesAtOnce);

// `count` neighbouring leaves from `first` on; those past the end are the identity. `count` is
// kLeaves, or where there is a loop any power of two up to that.
template <class Leaves, int kLeaves>
__device__ __forceinline__ ThreadColumns<Leaves> FoldLeaves(const Leaves& leaves,
                                                            std::int64_t first, int count) {
  using Columns = ThreadColumns<Leaves>;
  if constexpr (Leaves::kLoops && !Leaves::kReadsStates) {
    Columns columns;
    leaves.template FoldInLoop<kLeaves>(first, count, columns.of);
    return columns;
  } else {
    const auto combine = [](const Columns& left, const Columns& right) {
      return Columns::Combine(left, right);
    };
    if constexpr (Leaves::kReadsStates) {
      const auto leaf = [&](std::int64_t index) {
        Columns columns;
        leaves.Load(index, columns.of);
        return columns;
      };
      if constexpr (Leaves::kLoops) {
        if (count == 1) return leaf(first);
        // Two are on their way at once.
        const auto pair = [&](std::int64_t index) {
          const Columns left = leaf(first + index * 2);
          return combine(left, leaf(first + index * 2 + 1));
        };
        return FoldPairsInLoop<kLeaves / 2, Columns>(0, count / 2, pair, combine);
      } else {
        constexpr int kBatch = kStatesOnTheirWay<typename Leaves::Fold::State, kLeaves>;
        const auto batch = [&](std::int64_t index) {
          Columns states[kBatch];
#pragma unroll
          for (int i = 0; i < kBatch; ++i) states[i] = leaf(first + index * kBatch + i);
          return FoldPairs<kBatch, Columns>(
              0, [&](std::int64_t i) { return states[i]; }, combine);
        };
        return FoldPairs<kLeaves / kBatch, Columns>(0, batch, combine);
      }
    } else {
      // Straight code: the next leaves' rows are on their way while some are added up.
      constexpr int kBatch = kLeavesOnTheirWay<Leaves, kLeaves>;
      const auto batch = [&](std::int64_t index) {
        Columns columns;
        const std::int64_t leaf = index * kBatch;
        const int number = static_cast<int>(leaf - first) * Leaves::kRows;
        leaves.template FoldLeaves<kBatch>(leaf, number, columns.of);
        return columns;
      };
      return FoldPairs<kLeaves / kBatch, Columns>(first / kBatch, batch, combine);
    }
  }
}

// Columns as straight code, several leaves a thread: small blocks, so that others read while one
// folds its threads, and 128 registers a thread, so that a leaf's rows are on their way while the
// one before it is added up. Of 4 GiB the sum of 32,768 columns took 1,131 us in blocks of 512, 972
// so (H200, 2026-11-21). In a loop: 80 registers, or 64 where a thread's rows are few; the
// statistics of 32,768 by 2,048 f32 took 148 us with 64 and 114 with 80, of f64 128 and 129 (H200,
// 2026-11-22). Through shared memory: as many blocks as that holds.
template <class Leaves, int kLeaves>
inline constexpr TreeBounds kTreeBounds = [] {
  if (Leaves::kReadsStates) return TreeBounds{kTreeThreads, 1};
  if (Leaves::kSharedBytesPerThread > 0) return TreeBounds{kLongThreads, 3};
  if (Leaves::kLoops) {
    return TreeBounds{kLongThreads,
                      kLeaves > 1 && sizeof(typename Leaves::Fold::Element) < 8 ? 3 : 4};
  }
  return kLeaves > 1 ? TreeBounds{kDeepThreads, 2} : TreeBounds{kTreeThreads, 1};
}();

// The states of neighbouring outputs.
template <class F, int kCount>
struct StateRow {
  typename F::State of[kCount];
};

// Folds the states of the threads y of a block; what threads y = 0 return is their fold. Those of
// one warp through shuffles, then those of the warps through shared memory.
template <class F, int kThreadsMax, int kCount>
__device__ __forceinline__ StateRow<F, kCount> FoldThreadsY(StateRow<F, kCount> row, int x,
                                                            const TreeLaunch& launch) {
  // In each step half of the warps that are left give, and the others take.
  __shared__ StateRow<F, kCount> given[kThreadsMax / 2];
  const int warp = threadIdx.x / 32;
  const int threads_x = 1 << launch.threads_x_log2;
  const int warps = (launch.threads_y << launch.threads_x_log2) / 32;
#pragma unroll
  for (auto& state : row.of) state = FoldLanesByNeighbours<F>(state, threads_x, 32);
  for (int step = 1; step < warps; step *= 2) {
    const int pair = warp / (2 * step);
    StateRow<F, kCount>& slot = given[pair * threads_x + x];
    if (warp % (2 * step) == step) slot = row;
    __syncthreads();
    if (warp % (2 * step) == 0) {
#pragma unroll
      for (int v = 0; v < kCount; ++v) row.of[v] = F::Combine(row.of[v], slot.of[v]);
    }
    __syncthreads();
  }
  return row;
}

// The same of blocks with one x, as after the first pass over a long row: all components at a time,
// so that their shuffles overlap, and with one barrier, where a light fold's steps have two each.
template <class F>
__device__ __forceinline__ StateRow<F, 1> FoldBlock(const StateRow<F, 1>& row, int threads) {
  __shared__ typename F::State warp_states[kLanes];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warps = threads / 32;
  const typename F::State folded = FoldLanesByNeighbours<F>(row.of[0], 1, 32);
  if (warps == 1) return {folded};
  if (lane == 0) warp_states[warp] = folded;
  __syncthreads();
  return {FoldLanesByNeighbours<F>(warp_states[lane & (warps - 1)], 1, warps)};
}

// The states of the threads y of a block, folded; threads y = 0 return them.
template <class Leaves, int kThreadsMax>
__device__ __forceinline__ auto FoldThreads(
    const StateRow<typename Leaves::Fold, Leaves::kVector>& row, int x, const TreeLaunch& launch) {
  using F = typename Leaves::Fold;
  if constexpr (Leaves::kReadsStates) {
    if (launch.threads_x_log2 == 0) return FoldBlock<F>(row, launch.threads_y);
  }
  return FoldThreadsY<F, kThreadsMax>(row, x, launch);
}

// Thread t of a block is output group x = t % threads_x, part y = t / threads_x. Leaves::data is
// the array's base here.
template <class Leaves, int kLeaves>
__global__ void __launch_bounds__(kTreeBounds<Leaves, kLeaves>.threads,
                                  kTreeBounds<Leaves, kLeaves>.blocks_per_sm)
    TreeKernel(Leaves leaves, std::int64_t outer, TreeLaunch launch,
               const __grid_constant__ Sink<typename Leaves::Fold> sink) {
  using F = typename Leaves::Fold;
  constexpr int kVector = Leaves::kVector;
  // Of pipelined columns FoldThreadsY's is all that is declared.
  static_assert(Leaves::kSharedBytesPerThread == 0 ||
                sizeof(StateRow<F, kVector>) * kTreeBounds<Leaves, kLeaves>.threads / 2 <=
                    kTreeDeclaredSharedBytesMax);
  BeginPass();
  const int y = static_cast<int>(threadIdx.x) >> launch.threads_x_log2;
  const int x = static_cast<int>(threadIdx.x) - (y << launch.threads_x_log2);
  // A grid has fewer than 2^31 blocks.
  const unsigned blocks_x = static_cast<unsigned>(launch.blocks_x);
  const unsigned part = blocks_x == 1 ? blockIdx.x : blockIdx.x / blocks_x;
  const std::int64_t group =
      (std::int64_t{blockIdx.x - part * blocks_x} << launch.threads_x_log2) + x;
  const std::int64_t groups_per_outer = leaves.inner / kVector;
  const bool in_range = group < outer * groups_per_outer;

  ThreadColumns<Leaves> columns;
  for (auto& value : columns.of) value = Leaves::Identity();
  const std::int64_t first_leaf = (std::int64_t{part} * launch.threads_y + y) * launch.leaves;
  if (in_range) {
    const std::int64_t plane = outer == 1 ? 0 : group / groups_per_outer;
    const std::int64_t column = (group - plane * groups_per_outer) * kVector;
    leaves.Advance(plane * leaves.count * leaves.inner + column);
    columns = FoldLeaves<Leaves, kLeaves>(leaves, first_leaf, launch.leaves);
  }
  StateRow<F, kVector> row;
#pragma unroll
  for (int v = 0; v < kVector; ++v) row.of[v] = leaves.Promote(columns.of[v], first_leaf, v);
  if (launch.threads_y > 1) {
    row = FoldThreads<Leaves, kTreeBounds<Leaves, kLeaves>.threads>(row, x, launch);
  }
  if (y == 0 && in_range) sink.Put(part, group * kVector, row.of);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
