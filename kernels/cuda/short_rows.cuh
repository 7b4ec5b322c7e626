// First pass over contiguous rows of at most half a tile: each has so few threads that what a row
// takes beside its elements is little, and neighbouring threads finish the block's rows.
#ifndef WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_
#define WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/tile_passes.cuh"

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

// The lanes that hold a row. What a window takes pays where each has several vectors, and several
// sums: of rows of 4 f32 nine statistics took 677 us in windows and 627 without, SUM of rows of 4
// f64 142 and 130, of 32 85 and 82 (256 MiB, H200, 2026-12-01).
template <int kVectors>
struct AcrossShortRow : AcrossLanes {
  template <class F>
  static constexpr bool kInWindows = exact::kHasWindowedSums<F>&& kHasManyAccumulators<F> &&
                                     (kVectors > 1);
};

// Rows of a thread whose vectors it loads before it folds any: of the shortest rows of folds with
// few accumulators several, or blocks would end as soon as they had begun. Not of unaligned bytes,
// which it loads one by one: 2^26 rows of four took 930 us, and 1,615 by four rows (H100,
// 2026-11-27).
template <class F, bool kAligned = true>
inline constexpr int kRowVectorsAtOnce = kIsComputeBound<F> ||
                                                 (!kAligned && sizeof(typename F::Storage) == 1)
                                             ? 1
                                             : 4;
// The most rows of a block, which keeps what they have added up in.
template <class F>
inline constexpr int kBlockRowsMax = [] {
  int rows = kShortRowThreads * kRowVectorsAtOnce<F>;
  while (rows * sizeof(typename F::Acc) > (32 << 10)) rows /= 2;
  return rows;
}();

// Puts `count` rows of a block, a power of two, from `first_row` on; of fewer than it has threads
// each has a share of a row's ops. A row's state is made here, by the one thread that needs it.
template <class F>
__device__ __forceinline__ void FinishRows(const Epilogue<F>& epilogue, std::int64_t first_element,
                                           std::int64_t first_row, std::int64_t rows,
                                           int row_elements, int count,
                                           const typename F::Acc* folded) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool shares_ops = exact::kIsExact<F> && epilogue.d_states == nullptr;
  if (!shares_ops && thread >= count) return;
#pragma unroll 1
  for (int i = thread & (count - 1); i < count; i += kShortRowThreads) {
    const std::int64_t row = first_row + i;
    if (row >= rows) return;
    const typename F::State state[1] = {
        F::Promote(folded[i], {.first = first_element + row * row_elements}, row_elements)};
    if constexpr (exact::kIsExact<F>) {
      if (shares_ops) {
        const int shares = max(kShortRowThreads / count, 1);
        epilogue.PutResults(row, state, {.first = thread / count, .stride = shares});
        continue;
      }
    }
    epilogue.Put(0, row, state);
  }
}

// 64 registers a thread, of statistics of elements of eight bytes 80: the nine of 2^25 f64 in rows
// of 16 took 356 us with 64, 321 with 94 and 364 with 118 (H100, 2026-11-27).
template <class F>
inline constexpr int kShortRowBlocksPerSm = kHasManyAccumulators<F> &&
                                                    sizeof(typename F::Storage) == 8
                                                ? 3
                                                : 4;

// kAligned: every row starts on 16 bytes and is whole vectors.
template <class F, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kShortRowThreads, kShortRowBlocksPerSm<F>)
    ShortRowKernel(const typename F::Storage* __restrict__ data, std::int64_t first_element,
                   std::int64_t rows, int row_elements, ShortRowLaunch launch,
                   const __grid_constant__ Epilogue<F> epilogue) {
  __shared__ typename F::Acc folded[kBlockRowsMax<F>];
  BeginPass();
  const int threads = 1 << launch.threads_log2;
  const int thread = static_cast<int>(threadIdx.x) & (threads - 1);
  const int rows_per_step = kShortRowThreads >> launch.threads_log2;
  constexpr int kVectorsAtOnce = kRowVectorsAtOnce<F, kAligned>;
  constexpr int kAtOnce = kVectors < kVectorsAtOnce ? kVectorsAtOnce / kVectors : 1;
  const int block_rows = rows_per_step * kAtOnce * launch.steps;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * block_rows;
#pragma unroll 1
  for (int row_of_block = static_cast<int>(threadIdx.x) >> launch.threads_log2;
       row_of_block < block_rows; row_of_block += rows_per_step * kAtOnce) {
    const auto row_of = [&](int i) { return first_row + row_of_block + i * rows_per_step; };
    const auto count_of = [&](int i) { return row_of(i) < rows ? row_elements : 0; };
    RowShare<typename F::Storage, kVectors, kAligned> mine[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      mine[i].Load(data + row_of(i) * row_elements, count_of(i), thread, threads);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const auto tile_pass = [&](auto, const auto& identity, const auto& add, const auto& combine) {
        return mine[i].Fold(identity, add, combine);
      };
      const typename F::Acc row =
          FoldTilePasses<F>(count_of(i), tile_pass, AcrossShortRow<kVectors>{threads});
      if (thread == 0) folded[row_of_block + i * rows_per_step] = row;
    }
  }
  __syncthreads();
  FinishRows<F>(epilogue, first_element, first_row, rows, row_elements, block_rows, folded);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_SHORT_ROWS_CUH_
