// Leaves of columns for threads that fold many of them: a thread's next leaf is on its way into
// shared memory while one is added up. A loop over leaves is little code, and shared memory holds
// more bytes on their way than registers would.
#ifndef WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_
#define WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/cuda/column_leaves.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/sweeps.cuh"

namespace warpfold::cuda {

// Light folds of elements of four bytes and more, in vectors of 16 bytes. Others are faster as
// straight code, sums of f16 columns by a quarter (H200, 2026-11-23).
template <class F>
inline constexpr bool kPipelinesColumns = [] {
  constexpr int kElementBytes = static_cast<int>(sizeof(typename F::Element));
  return !kIsLong<F> && kElementBytes >= 4 && kColumnVector<F> * kElementBytes == kVectorBytes;
}();

template <class F>
struct PipelinedColumnLeaves : RowsOfColumns<F, F, kColumnVector<F>> {
  using Rows = RowsOfColumns<F, F, kColumnVector<F>>;
  using Rows::count, Rows::data, Rows::inner, Rows::kRows, Rows::kVector, Rows::Identity;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  static constexpr bool kLoops = true;
  // Two leaves.
  static constexpr int kSharedBytesPerThread = 2 * kRows * static_cast<int>(sizeof(Vector));
  static_assert(kSharedBytesPerThread == kPipelinedSharedBytesPerThread);

  // `leaves` neighbouring leaves from `leaf` on, a power of two up to kLeavesMax.
  template <int kLeavesMax>
  __device__ __forceinline__ void FoldInLoop(std::int64_t leaf, int leaves,
                                             Value (&out)[kVector]) const {
    // A thread copies and reads its own vectors only, so that none waits for another.
    const int threads = static_cast<int>(blockDim.x);
    Vector* const mine = reinterpret_cast<Vector*>(DynamicSharedMemory()) + threadIdx.x;
    const auto slot = [&](int i) { return mine + (i & 1) * kRows * threads; };
    // Of the thread's rows, those that there are.
    const int rows = static_cast<int>(
        min(max(count - leaf * kRows, std::int64_t{0}), static_cast<std::int64_t>(leaves) * kRows));
    const T* next = data + leaf * kRows * inner;
    const auto request = [&](int i) {
      Vector* to = slot(i);
      const auto copy = [&] {
        __pipeline_memcpy_async(to, next, sizeof(Vector));
        to += threads;
        next += inner;
      };
      if (rows >= (i + 1) * kRows) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) copy();
      } else {
#pragma unroll 1
        for (int r = i * kRows; r < rows; ++r) copy();
      }
      __pipeline_commit();
    };

    using Columns = ThreadColumns<PipelinedColumnLeaves>;
    RegisterPairStack<Columns, kLeavesMax> stack;
    request(0);
#pragma unroll 1
    for (int i = 0; i < leaves; ++i) {
      request(i + 1);
      __pipeline_wait_prior(1);
      Columns columns;
      if (rows >= (i + 1) * kRows) {
        FoldWhole(slot(i), threads, i * kRows, columns.of);
      } else {
        FoldEnd(slot(i), threads, max(rows - i * kRows, 0), i * kRows, columns.of);
      }
      stack.Push(i, columns, Columns::Combine);
    }
    const Columns folded = stack.Top(leaves);
#pragma unroll
    for (int v = 0; v < kVector; ++v) out[v] = folded.of[v];
  }

 private:
  // A whole leaf, whose rows are `threads` vectors apart.
  __device__ __forceinline__ static void FoldWhole(const Vector* rows, int threads, int number,
                                                   Value (&out)[kVector]) {
    Vector loaded[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) loaded[r] = rows[r * threads];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) add(value, loaded[r].x[v], number + r);
        return value;
      };
      out[v] = FoldSweeps<F>(kRows, sweep, WithinThread{});
    }
  }
  // The leaf that has the end of the columns in it, or is past it; in loops, as it is one of many.
  __device__ __forceinline__ static void FoldEnd(const Vector* rows, int threads, int count,
                                                 int number, Value (&out)[kVector]) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
#pragma unroll 1
        for (int r = 0; r < count; ++r) add(value, rows[r * threads].x[v], number + r);
        return value;
      };
      out[v] = count == 0 ? Identity() : FoldSweeps<F>(count, sweep, WithinThread{});
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_
