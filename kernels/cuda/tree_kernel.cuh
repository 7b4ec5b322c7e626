// Folds along an index whose neighbours are `inner` apart: the first pass over columns, and the
// second pass over partials.
//
// A thread folds `kLeaves` neighbouring leaves in registers, threads y fold through shuffles and
// then shared memory: one binary tree over the leaf index, whatever the block's shape.
// docs/order.md is the definition of this order.
#ifndef WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
#define WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_

#include <cstddef>
#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/sink.cuh"
#include "kernels/cuda/sweeps.cuh"
#include "kernels/cuda/warp.cuh"

namespace warpfold::cuda {

// Neighbouring columns of a thread: a 16-byte vector of them while their running values take few
// registers, fewer for fusions of several components.
template <class F>
inline constexpr int kColumnVector = [] {
  constexpr std::size_t kBytesMax = 32;
  int columns = kVectorElements<typename F::Element>;
  while (columns > 1 && columns * sizeof(typename F::Acc) > kBytesMax) columns /= 2;
  return columns;
}();

// Leaves of a tensor's columns: kLeafRows elements in order, for kVector neighbouring columns at a
// time.
template <class F, int kVectorWidth>
struct ColumnLeaves {
  using Fold = F;
  using Value = typename F::Acc;
  using T = typename F::Element;
  static constexpr bool kReadsStates = false;
  static constexpr int kVector = kVectorWidth;
  static constexpr int kRows = kLeafRows;
  const T* data;  // the first of the columns, at count 0
  std::int64_t count;
  std::int64_t inner;
  std::int64_t first;  // the linear offset of data[0]

  __device__ void Advance(std::int64_t elements) {
    data += elements;
    first += elements;
  }
  __device__ static Value Identity() { return F::Identity(); }
  // Of column v, from leaf `leaf` on.
  __device__ typename F::State Promote(const Value& value, std::int64_t leaf, int v) const {
    return F::Promote(value, {.first = first + leaf * kRows * inner + v, .step = inner});
  }

  // `number`: of the leaf's first element.
  __device__ void Fold1(std::int64_t leaf, int number, Value (&out)[kVector]) const {
    struct alignas(sizeof(T) * kVector) Vector {
      T x[kVector];
    };
    const std::int64_t first_row = leaf * kRows;
    const int rows = count - first_row < kRows ? static_cast<int>(count - first_row) : kRows;
    Vector vectors[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) vectors[r] = *reinterpret_cast<const Vector*>(data + (first_row + r) * inner);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const auto sweep = [&](auto value, const auto& add, const auto&) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (r < rows) add(value, vectors[r].x[v], number + r);
        }
        return value;
      };
      out[v] = FoldSweeps<F>(rows, sweep, WithinThread{});
    }
  }
};

// Leaves of a state array: one state each.
template <class F>
struct StateLeaves {
  using Fold = F;
  using Value = typename F::State;
  static constexpr bool kReadsStates = true;
  static constexpr int kVector = 1;
  static constexpr int kRows = 1;
  const typename F::State* data;
  std::int64_t count;
  std::int64_t inner;
  PartialOrder order;

  __device__ void Advance(std::int64_t states) { data += states; }
  __device__ static Value Identity() { return F::IdentityState(); }
  __device__ static typename F::State Promote(const Value& value, std::int64_t, int) {
    return value;
  }
  __device__ void Fold1(std::int64_t leaf, int, Value (&out)[1]) const {
    out[0] = data[order.Slot(leaf) * inner];
  }
};

// Columns of a thread, and their values.
template <class Leaves>
struct ThreadColumns {
  typename Leaves::Value of[Leaves::kVector];
};

// `count` neighbouring leaves from `first` on; those past the end are the identity. `count` is
// kLeaves, or of columns and for heavy folds, which are compiled once, anything up to that.
template <class Leaves, int kLeaves>
__device__ __forceinline__ ThreadColumns<Leaves> FoldLeaves(const Leaves& leaves,
                                                            std::int64_t first, int count) {
  using F = typename Leaves::Fold;
  using Columns = ThreadColumns<Leaves>;
  const auto leaf = [&](std::int64_t index) {
    Columns columns;
    if (index * Leaves::kRows < leaves.count) {
      leaves.Fold1(index, static_cast<int>(index - first) * Leaves::kRows, columns.of);
    } else {
#pragma unroll
      for (auto& value : columns.of) value = Leaves::Identity();
    }
    return columns;
  };
  const auto combine = [](const Columns& left, const Columns& right) {
    Columns columns;
#pragma unroll
    for (int v = 0; v < Leaves::kVector; ++v) {
      columns.of[v] = F::Combine(left.of[v], right.of[v]);
    }
    return columns;
  };
  if constexpr (kIsHeavy<F>) {
    return FoldPairsInLoop<kLeaves, Columns>(first, count, leaf, combine);
  } else if constexpr (!Leaves::kReadsStates) {
    return FoldPairsInRegisters<kLeaves, Columns>(first, count, leaf, combine);
  } else {
    return FoldPairs<kLeaves, Columns>(first, leaf, combine);
  }
}

inline constexpr int kTreeThreadsMax = 512;
inline constexpr int kComponentStateBytesMax = 24;

// Thread t of a block is output group x = t % threads_x, part y = t / threads_x. Leaves::data is
// the array's base here.
template <class Leaves, int kLeaves>
__global__ void __launch_bounds__(kTreeThreadsMax, 1)
    TreeKernel(Leaves leaves, std::int64_t outer, TreeLaunch launch,
               const __grid_constant__ Sink<typename Leaves::Fold> sink) {
  using F = typename Leaves::Fold;
  using State = typename F::State;
  constexpr int kVector = Leaves::kVector;
  LetNextPassLaunch();
  if constexpr (Leaves::kReadsStates) AwaitPreviousPass();
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

  // From here on a loop, whose index takes its values through local memory: straight code for all
  // columns would be larger than all before it.
  if (launch.threads_y == 1) {
    if (!in_range) return;
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) {
      sink.Put(part, group * kVector + v, leaves.Promote(columns.of[v], first_leaf, v));
    }
    return;
  }

  // Threads y: those of one warp through shuffles, then one state a warp and group through shared
  // memory, a component at a time.
  __shared__ __align__(16) unsigned char shared[kTreeThreadsMax * kComponentStateBytesMax];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int threads_x = 1 << launch.threads_x_log2;
  const int warps_in_use = (launch.threads_y << launch.threads_x_log2) / 32;
#pragma unroll 1
  for (int v = 0; v < kVector; ++v) {
    State state = leaves.Promote(columns.of[v], first_leaf, v);
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      static_assert(sizeof(typename C::State) <= kComponentStateBytesMax);
      typename C::State& mine = F::template Get<C>(state);
      mine = FoldLanesByNeighbours<C>(mine, threads_x, 32);
      if (warps_in_use == 1) return;
      typename C::State* warp_states = reinterpret_cast<typename C::State*>(shared) + x;
      if (lane < threads_x) warp_states[warp * 32] = mine;
      for (int step = 1; step < warps_in_use; step *= 2) {
        __syncthreads();
        if (warp % (2 * step) == 0 && lane < threads_x) {
          warp_states[warp * 32] =
              C::Combine(warp_states[warp * 32], warp_states[(warp + step) * 32]);
        }
      }
      if (warp == 0 && lane < threads_x) mine = warp_states[0];
      __syncthreads();  // before the next component overwrites the states
    });
    if (y == 0 && in_range) sink.Put(part, group * kVector + v, state);
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_TREE_KERNEL_CUH_
