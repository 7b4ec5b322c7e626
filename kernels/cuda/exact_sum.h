// The exact sum of a tensor of floats on a GPU: the real sum, rounded once, whatever the order in
// which it was added, by one kernel. Of CUB's speed, on an H200:
// bench/results/exact-sums-h200.json.
#ifndef WARPFOLD_KERNELS_CUDA_EXACT_SUM_H_
#define WARPFOLD_KERNELS_CUDA_EXACT_SUM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch_plan.h"
#include "kernels/ops/op.h"
#include "kernels/types.h"

namespace warpfold::cuda {

// Bytes of scratch, on a multiple of 16 and zeroed before the first sum: each leaves it so.
template <typename T>
std::size_t ExactSumScratchBytes();

// Enqueues the sum of `count` >= 1 elements, T any of the float types, to *d_result. Two sums may
// share scratch if one is behind the other in a stream.
template <typename T>
[[nodiscard]] cudaError_t ExactSum(const T* d_data, std::int64_t count, const DeviceShape& device,
                                   void* d_scratch, FloatOf<T>* d_result, cudaStream_t stream);

// Its kernel, as Engine::AnyKernel.
template <typename T>
const void* AnyExactSumKernel();

// From so many bytes on it is no slower than a fold of bounded sums (reduce.h), which takes 1.0 to
// 1.3 times as long there (H100, 2026-11-27: bench/results/exact-served-h100.json).
constexpr std::int64_t ExactSumBytesMin(DType dtype) {
  return std::int64_t{dtype == DType::kF64 ? 16 : 1} << 20;
}

// The same of elements of `dtype`, one of the float types. No type's scratch is larger.
inline constexpr std::size_t kExactSumScratchBytesMax = 2048;
[[nodiscard]] cudaError_t ExactSum(DType dtype, const void* d_data, std::int64_t count,
                                   const DeviceShape& device, void* d_scratch, void* d_result,
                                   cudaStream_t stream);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_EXACT_SUM_H_
