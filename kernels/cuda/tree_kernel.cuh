// Folds along an index whose neighbours are `inner` apart: the first pass over columns, and the
// second pass over partials.
//
// A thread folds neighbouring leaves in registers, threads y fold through shuffles and then shared
// memory. No result depends on that order.
#ifndef WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
#define WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/column_leaves.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// Leaves of a state array: one state each.
template <class F>
struct StateLeaves {
  using Fold = F;
  using Value = typename F::State;
  static constexpr bool kReadsStates = true;
  static constexpr int kThreadsMax = kTreeThreads;
  static constexpr int kBlocksPerSm = 1;
  static constexpr int kVector = 1;
  static constexpr int kRows = 1;
  static constexpr int kSharedBytesPerThread = 0;
  const typename F::State* data;
  std::int64_t count;
  std::int64_t inner;
  PartialOrder order;

  __device__ void Advance(std::int64_t states) { data += states; }
  __device__ static Value Identity() { return F::IdentityState(); }
  __device__ static typename F::State Promote(const Value& value, std::int64_t, int, int) {
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

// Of `kLeaves` states, those that a thread loads before it joins any: what 64 registers hold.
template <class State, int kLeaves>
inline constexpr int kLoadsInFlight =
    std::min(kLeaves, static_cast<int>(std::bit_floor(256 / sizeof(State))));

// `count` neighbouring states from `first` on; those past the end are the identity. `count` is
// kLeaves, or where joining two is compute-bound any power of two up to that.
template <class Leaves, int kLeaves>
__device__ __forceinline__ ThreadColumns<Leaves> FoldStatesOf(const Leaves& leaves,
                                                              std::int64_t first, int count) {
  using Columns = ThreadColumns<Leaves>;
  using F = typename Leaves::Fold;
  const auto combine = [](const Columns& left, const Columns& right) {
    return Columns::Combine(left, right);
  };
  const auto leaf = [&](std::int64_t index) {
    Columns columns;
    leaves.Load(index, columns.of);
    return columns;
  };
  if constexpr (kHasManyAccumulators<F>) {
    if (count == 1) return leaf(first);
    // Two are in flight at once.
    const auto pair = [&](int index) {
      const Columns left = leaf(first + index * 2);
      return combine(left, leaf(first + index * 2 + 1));
    };
    return FoldInLoop(Columns::Identity(), count / 2, pair, combine);
  } else {
    constexpr int kBatch = kLoadsInFlight<typename F::State, kLeaves>;
    const auto batch = [&](std::int64_t index) {
      Columns states[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) states[i] = leaf(first + index * kBatch + i);
      return FoldPairwise<kBatch, Columns>(
          0, [&](std::int64_t i) { return states[i]; }, combine);
    };
    return FoldPairwise<kLeaves / kBatch, Columns>(0, batch, combine);
  }
}

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

// The same of blocks with one x, as after the first pass over a long row, to all threads: all
// components at a time, so that their shuffles overlap, and with one barrier, where the steps of
// few accumulators have two each.
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

// Puts what threads y = 0 have of a block's outputs, `first` and following: each by a thread of its
// own, as finishing them one after another would take longer than all else that the block's last
// warp does.
template <class F, int kCount>
__device__ __forceinline__ void PutByThreads(const Epilogue<F>& epilogue, std::int64_t part,
                                             std::int64_t first, const StateRow<F, kCount>& row,
                                             int y, int x, int threads_x) {
  __shared__ StateRow<F, kCount> rows[kLanes];
  if (y == 0) rows[x] = row;
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i < threads_x * kCount && first + i < epilogue.outputs) {
    epilogue.Put(part, first + i, rows[i / kCount].of[i % kCount]);
  }
}

// Thread t of a block is output group x = t % threads_x, part y = t / threads_x. Leaves::data is
// the array's base here. kLeaves: of states, the most of a thread.
template <class Leaves, int kLeaves>
__global__ void __launch_bounds__(Leaves::kThreadsMax, Leaves::kBlocksPerSm)
    TreeKernel(Leaves leaves, std::int64_t outer, TreeLaunch launch,
               const __grid_constant__ Epilogue<typename Leaves::Fold> epilogue) {
  using F = typename Leaves::Fold;
  constexpr int kVector = Leaves::kVector;
  // Of pipelined columns what FoldThreadsY and PutByThreads declare is all.
  static_assert(Leaves::kSharedBytesPerThread == 0 ||
                sizeof(StateRow<F, kVector>) * (Leaves::kThreadsMax / 2 + kLanes) <=
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

  ThreadColumns<Leaves> columns = ThreadColumns<Leaves>::Identity();
  const std::int64_t first_leaf = (std::int64_t{part} * launch.threads_y + y) * launch.leaves;
  if (in_range) {
    const std::int64_t plane = outer == 1 ? 0 : group / groups_per_outer;
    const std::int64_t column = (group - plane * groups_per_outer) * kVector;
    leaves.Advance(plane * leaves.count * leaves.inner + column);
    if constexpr (Leaves::kReadsStates) {
      columns = FoldStatesOf<Leaves, kLeaves>(leaves, first_leaf, launch.leaves);
    } else {
      leaves.FoldLeaves(first_leaf, launch.leaves, columns.of);
    }
  }
  StateRow<F, kVector> row;
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    row.of[v] = leaves.Promote(columns.of[v], first_leaf, launch.leaves, v);
  }
  if (launch.threads_y > 1) {
    row = FoldThreads<Leaves, Leaves::kThreadsMax>(row, x, launch);
  }
  if constexpr (Leaves::kReadsStates && kHasManyAccumulators<F>) {
    if (launch.threads_x_log2 == 0) {
      // FoldBlock has given it to all threads.
      if (y % kLanes == 0 && in_range) {
        epilogue.PutByWarps(part, group, row.of[0],
                            {.first = y / kLanes, .stride = launch.threads_y / kLanes});
      }
      return;
    }
  }
  if (kVector > 1 && launch.threads_y >= kVector) {
    const std::int64_t first_group = group - x;
    PutByThreads(epilogue, part, first_group * kVector, row, y, x, 1 << launch.threads_x_log2);
  } else if (y == 0 && in_range) {
    epilogue.Put(part, group * kVector, row.of);
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
