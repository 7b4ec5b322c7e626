// Leaves of columns for threads that fold many of them: a thread's next leaf is in flight into
// shared memory while one is added up. A loop over leaves is little code, and shared memory holds
// more bytes in flight than registers would.
#ifndef WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_
#define WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/cuda/column_leaves.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/running.cuh"
#include "kernels/cuda/tile_passes.cuh"

namespace warpfold::cuda {

// Few accumulators, of elements of four bytes and more, in vectors of 16 bytes. Others are faster
// as straight code, sums of f16 columns by a quarter (H200, 2026-11-23).
template <class F>
inline constexpr bool kPipelinesColumns = [] {
  constexpr int kElementBytes = static_cast<int>(sizeof(typename F::Storage));
  return !kIsComputeBound<F> && kElementBytes >= 4 &&
         kColumnVector<F> * kElementBytes == kVectorBytes;
}();

template <class F>
struct PipelinedColumnLeaves : RowsOfColumns<F, F, kColumnVector<F>> {
  using Rows = RowsOfColumns<F, F, kColumnVector<F>>;
  using Rows::data, Rows::inner, Rows::kRows, Rows::kVector;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  static constexpr int kThreadsMax = kColumnThreads;
  static constexpr int kBlocksPerSm = 3;  // as many as shared memory holds
  // Two leaves.
  static constexpr int kSharedBytesPerThread = 2 * kRows * static_cast<int>(sizeof(Vector));
  static_assert(kSharedBytesPerThread == kPipelinedSharedBytesPerThread);

  // `leaves` neighbouring leaves from `leaf` on, those of them that there are.
  __device__ __forceinline__ void FoldLeaves(std::int64_t leaf, int leaves,
                                             Value (&out)[kVector]) const {
    // A thread copies and reads its own vectors only, so that none waits for another.
    const int threads = static_cast<int>(blockDim.x);
    Vector* const mine = reinterpret_cast<Vector*>(DynamicSharedMemory()) + threadIdx.x;
    const auto slot = [&](int i) { return mine + (i & 1) * kRows * threads; };
    const int rows = Rows::RowsOfLeaves(leaf, leaves);
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

    typename Running::Value running[kVector];
#pragma unroll
    for (auto& value : running) value = Running::Identity();
    request(0);
#pragma unroll 1
    for (int i = 0; i < leaves; ++i) {
      request(i + 1);
      __pipeline_wait_prior(1);
      if (rows >= (i + 1) * kRows) {
        AddWhole(slot(i), threads, i * kRows, running);
      } else {
        AddEnd(slot(i), threads, max(rows - i * kRows, 0), i * kRows, running);
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) out[v] = Finalized<F, Running>(running[v], WithinThread{});
  }

 private:
  // One pass is all that few accumulators without indices take.
  using Running = RunningFold<F, /*kByWarp=*/false>;
  static_assert(!F::kSkipsCounts);

  // A whole leaf, whose rows are `threads` vectors apart.
  __device__ __forceinline__ static void AddWhole(const Vector* rows, int threads, int number,
                                                  typename Running::Value (&to)[kVector]) {
    Vector loaded[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) loaded[r] = rows[r * threads];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) Running::Add(to[v], Lift(loaded[r].x[v]), number + r);
    }
  }
  // The leaf that has the end of the columns in it, or is past it; in loops, as it is one of many.
  __device__ __forceinline__ static void AddEnd(const Vector* rows, int threads, int count,
                                                int number,
                                                typename Running::Value (&to)[kVector]) {
#pragma unroll 1
    for (int r = 0; r < count; ++r) {
#pragma unroll
      for (int v = 0; v < kVector; ++v)
        Running::Add(to[v], Lift(rows[r * threads].x[v]), number + r);
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PIPELINED_COLUMNS_CUH_
