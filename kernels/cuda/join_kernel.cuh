// States of the pieces of a tensor, joined as they arrive.
#ifndef WARPFOLD_KERNELS_CUDA_JOIN_KERNEL_CUH_
#define WARPFOLD_KERNELS_CUDA_JOIN_KERNEL_CUH_

#include <cstdint>

namespace warpfold::cuda {

inline constexpr int kJoinThreads = 256;

template <class F>
__global__ void JoinKernel(const typename F::State* __restrict__ states, std::int64_t count,
                           typename F::State* __restrict__ to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kJoinThreads + threadIdx.x;
  if (i < count) to[i] = F::Combine(to[i], states[i]);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_JOIN_KERNEL_CUH_
