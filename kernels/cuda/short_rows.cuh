// First pass over contiguous rows of at most half a tile: each has so few threads that what a row
// takes beside its elements is little, and neighbouring threads finish the block's rows.
#ifndef WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_
#define WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/sink.cuh"
#include "kernels/cuda/sweeps.cuh"

namespace warpfold::cuda {

// What a thread holds of a row: kVectors vectors, which are the row's `threads` apart.
template <typename T, int kVectors, bool kAligned>
struct RowShare {
  LaneVectors<T, 1, kAligned ? Presence::kVectors : Presence::kAny, true> vectors[kVectors];

  __device__ __forceinline__ void Load(const T* row, int count, int thread, int threads) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      vectors[i].first = (thread + i * threads) * kVectorElements<T>;
      // Kept in a register: of each element that an index is sought among, the compiler computed
      // the number anew, from threadIdx on.
      if constexpr (kVectors > 1) asm("" : "+r"(vectors[i].first));
      vectors[i].count = count;
      vectors[i].Load(row);
    }
  }
  // Adds to two values in turns: an addition waits for the last one's sum.
  template <typename Value, class Add, class Combine>
  __device__ __forceinline__ Value Fold(const Value& identity, const Add& add,
                                        const Combine& combine) const {
    Value even = identity;
    if constexpr (kVectors == 1) {
      vectors[0].AddTo(even, add);
      return even;
    } else {
      Value odd = identity;
#pragma unroll
      for (int i = 0; i < kVectors; ++i) vectors[i].AddTo(i % 2 == 0 ? even : odd, add);
      return combine(even, odd);
    }
  }
};

// The most rows of a block: as many as it has threads, or half as many where states are large.
template <class F>
inline constexpr int kBlockRowsMax = kShortRowThreads * sizeof(typename F::State) <= (32 << 10)
                                         ? kShortRowThreads
                                         : kShortRowThreads / 2;

// Puts `count` rows of a block, a power of two, from `first_row` on; of fewer than it has threads
// each has a share of a row's ops.
template <class F>
__device__ __forceinline__ void FinishRows(const Sink<F>& sink, std::int64_t first_row,
                                           std::int64_t rows, int count,
                                           const typename F::State* states) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool shares_ops = exact::kIsExact<F> && sink.d_states == nullptr;
  const int i = thread & (count - 1);
  const std::int64_t row = first_row + i;
  if (row >= rows || (!shares_ops && thread >= count)) return;
  if constexpr (exact::kIsExact<F>) {
    if (shares_ops) {
      const typename F::State state[1] = {states[i]};
      sink.PutResults(row, state, {.first = thread / count, .stride = kShortRowThreads / count});
      return;
    }
  }
  sink.Put(0, row, states[i]);
}

// 64 registers a thread, of float64's statistics 80: the nine of 2^25 elements in rows of 16 took
// 356 us with 64, 321 with 94 and 364 with 118 (H100, 2026-11-27).
template <class F>
inline constexpr int kShortRowBlocksPerSm = kIsHeavy<F> && sizeof(typename F::Element) == 8 ? 3 : 4;

// kAligned: every row starts on 16 bytes and is whole vectors.
template <class F, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kShortRowThreads, kShortRowBlocksPerSm<F>)
    ShortRowKernel(const typename F::Element* __restrict__ data, std::int64_t first_element,
                   std::int64_t rows, int row_elements, ShortRowLaunch launch,
                   const __grid_constant__ Sink<F> sink) {
  __shared__ typename F::State states[kBlockRowsMax<F>];
  BeginPass();
  const int threads = 1 << launch.threads_log2;
  const int thread = static_cast<int>(threadIdx.x) & (threads - 1);
  const int rows_per_step = kShortRowThreads >> launch.threads_log2;
  const int block_rows = rows_per_step * launch.steps;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * block_rows;
#pragma unroll 1
  for (int row_of_block = static_cast<int>(threadIdx.x) >> launch.threads_log2;
       row_of_block < block_rows; row_of_block += rows_per_step) {
    const std::int64_t row = first_row + row_of_block;
    const int count = row < rows ? row_elements : 0;
    RowShare<typename F::Element, kVectors, kAligned> mine;
    mine.Load(data + row * row_elements, count, thread, threads);
    const typename F::State state = F::Promote(FoldByLanes<F>(mine, count, threads),
                                               {.first = first_element + row * row_elements});
    if (thread == 0) states[row_of_block] = state;
  }
  __syncthreads();
  FinishRows(sink, first_row, rows, block_rows, states);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_
