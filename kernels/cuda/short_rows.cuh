// First pass over contiguous rows of at most half a tile: each has as few threads as hold it, so
// that a warp folds several rows at a time. The order is the one of row_kernels.cuh.
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

// What a thread holds of a row: kVectors vectors of each of kLanes lanes, which are the row's
// `threads` apart. Lanes fold by halves, so that the thread's own meet before they meet others'.
template <typename T, int kVectors, int kLanes, bool kAligned>
struct RowShare {
  LaneVectors<T, kVectors, kAligned ? Presence::kVectors : Presence::kAny, true> lanes[kLanes];

  __device__ __forceinline__ void Load(const T* row, int count, int thread, int threads) {
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      lanes[l].first = (thread + l * threads) * kVectorElements<T>;
      // Kept in a register: of each element that an index is sought among, the compiler computed
      // the number anew, from threadIdx on.
      if constexpr (kLanes > 1) asm("" : "+r"(lanes[l].first));
      lanes[l].count = count;
      lanes[l].Load(row);
    }
  }
  template <typename Value, class Add, class Combine>
  __device__ __forceinline__ Value Fold(const Value& identity, const Add& add,
                                        const Combine& combine) const {
    Value of[kLanes];
#pragma unroll
    for (int l = 0; l < kLanes; ++l) of[l] = lanes[l].Fold(identity, add, combine);
#pragma unroll
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma unroll
      for (int l = 0; l < half; ++l) of[l] = combine(of[l], of[l + half]);
    }
    return of[0];
  }
};

// The most rows of a thread: as many as keep four vectors on their way.
__host__ __device__ constexpr int ShortRowBatch(int row_vectors) { return 4 / row_vectors; }

// Puts `count` rows of a block, a power of two, from `first_row` on; of fewer than it has threads
// each has a share of a row's ops. Of folds that kIsExact.
template <class F>
__device__ __forceinline__ void FinishRows(const Sink<F>& sink, std::int64_t first_row,
                                           std::int64_t rows, int count,
                                           const typename F::State* states) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool has_states = sink.d_states != nullptr;
  for (int i = thread & (count - 1); i < count; i += kShortRowThreads) {
    const std::int64_t row = first_row + i;
    if (row >= rows) return;
    const typename F::State state[1] = {states[i]};
    if (!has_states) {
      const int shares = max(kShortRowThreads / count, 1);
      sink.PutResults(row, state, {.first = thread / count, .stride = shares});
    } else if (thread < count) {
      sink.Put(0, row, state);
    }
  }
}

// kBatch rows of a thread, as many apart as the block has at a time.
template <class F, int kVectors, bool kAligned, int kBatch>
__device__ __forceinline__ void FoldShortRows(const typename F::Element* __restrict__ data,
                                              std::int64_t first_element, std::int64_t rows,
                                              int row_elements, int threads_log2,
                                              const Sink<F>& sink) {
  const int threads = 1 << threads_log2;
  const int rows_per_step = kShortRowThreads >> threads_log2;
  const std::int64_t first_row =
      std::int64_t{blockIdx.x} * rows_per_step * kBatch + (threadIdx.x >> threads_log2);
  const int thread = static_cast<int>(threadIdx.x) & (threads - 1);
  const auto count_of = [&](std::int64_t row) { return row < rows ? row_elements : 0; };

  RowShare<typename F::Element, kVectors, 1, kAligned> batch[kBatch];
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    const std::int64_t row = first_row + b * rows_per_step;
    batch[b].Load(data + row * row_elements, count_of(row), thread, threads);
  }
  const auto state_of = [&](int b) {
    const std::int64_t row = first_row + b * rows_per_step;
    return F::Promote(FoldByLanes<F>(batch[b], count_of(row), threads),
                      {.first = first_element + row * row_elements});
  };
  if constexpr (exact::kIsExact<F>) {
    if (threads > 1) {
      // What a result takes is most of the work: neighbouring threads finish the block's rows.
      __shared__ typename F::State states[kShortRowThreads / 2 * kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const typename F::State state = state_of(b);
        const int row_of_step = static_cast<int>(threadIdx.x) >> threads_log2;
        if (thread == 0) states[b * rows_per_step + row_of_step] = state;
      }
      __syncthreads();
      FinishRows(sink, std::int64_t{blockIdx.x} * rows_per_step * kBatch, rows,
                 rows_per_step * kBatch, states);
      return;
    }
  }
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    const std::int64_t row = first_row + b * rows_per_step;
    const typename F::State state = state_of(b);
    if (thread == 0 && row < rows) sink.Put(0, row, state);
  }
}

// kAligned: every row starts on 16 bytes and is whole vectors. A thread serves one row or
// ShortRowBatch of them.
template <class F, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kShortRowThreads)
    ShortRowKernel(const typename F::Element* __restrict__ data, std::int64_t first_element,
                   std::int64_t rows, int row_elements, ShortRowLaunch launch,
                   const __grid_constant__ Sink<F> sink) {
  constexpr int kBatch = ShortRowBatch(kVectors);
  BeginPass();
  if (kBatch == 1 || launch.batch == 1) {
    FoldShortRows<F, kVectors, kAligned, 1>(data, first_element, rows, row_elements,
                                            launch.threads_log2, sink);
  } else {
    FoldShortRows<F, kVectors, kAligned, kBatch>(data, first_element, rows, row_elements,
                                                 launch.threads_log2, sink);
  }
}

// The same of long folds, where what a row takes beside its elements is most of the work: a thread
// holds kLanes lanes of its row, and the block finishes its rows with neighbouring threads.
// kIsAlone: a thread holds its whole row.
template <class F, int kVectors, int kLanes, bool kAligned, bool kIsAlone>
__global__ void __launch_bounds__(kShortRowThreads)
    LongShortRowKernel(const typename F::Element* __restrict__ data, std::int64_t first_element,
                       std::int64_t rows, int row_elements, ShortRowLaunch launch,
                       const __grid_constant__ Sink<F> sink) {
  __shared__ typename F::State states[kIsAlone ? 1 : kShortRowThreads / 2];
  BeginPass();
  const int threads_log2 = kIsAlone ? 0 : launch.threads_log2;
  const int steps = kIsAlone ? 1 : launch.batch;
  const int threads = 1 << threads_log2;
  const int thread = static_cast<int>(threadIdx.x) & (threads - 1);
  const int rows_per_step = kShortRowThreads >> threads_log2;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * rows_per_step * steps;
  typename F::State state;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int row_of_block = step * rows_per_step + (static_cast<int>(threadIdx.x) >> threads_log2);
    const std::int64_t row = first_row + row_of_block;
    const int count = row < rows ? row_elements : 0;
    RowShare<typename F::Element, kVectors, kLanes, kAligned> mine;
    mine.Load(data + row * row_elements, count, thread, threads);
    state = F::Promote(FoldByLanes<F>(mine, count, threads),
                       {.first = first_element + row * row_elements});
    if (threads > 1 && thread == 0) states[row_of_block] = state;
  }
  if constexpr (exact::kIsExact<F> && !kIsAlone) {
    if (threads > 1) {
      __syncthreads();
      FinishRows(sink, first_row, rows, rows_per_step * steps, states);
      return;
    }
  }
  const bool finishes = static_cast<int>(threadIdx.x) < rows_per_step * steps;
  if (threads > 1) {
    __syncthreads();
    if (finishes) state = states[threadIdx.x];
  }
  const std::int64_t row = first_row + threadIdx.x;
  if (finishes && row < rows) sink.Put(0, row, state);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_
