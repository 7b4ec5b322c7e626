// The binary tree over states that arrive one after another (see reduce.h, StackLevels),
// elementwise over columns.
#ifndef WARPFOLD_KERNELS_CUDA_STACK_KERNELS_CUH_
#define WARPFOLD_KERNELS_CUDA_STACK_KERNELS_CUH_

#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/cuda/sink.cuh"

namespace warpfold::cuda {

inline constexpr int kStackThreads = 256;

// Column `column` of a stack of `width` columns.
template <class F>
__device__ void PushColumn(typename F::State state, std::int64_t column, std::int64_t width,
                           std::int64_t index, typename F::State* stack) {
  int level = 0;
  for (; (index >> level) & 1; ++level) {
    state = F::Combine(stack[level * width + column], state);
  }
  stack[level * width + column] = state;
}

template <class F>
__global__ void PushKernel(const typename F::State* states, std::int64_t width, std::int64_t index,
                           typename F::State* stack) {
  const std::int64_t column = std::int64_t{blockIdx.x} * kStackThreads + threadIdx.x;
  if (column < width) PushColumn<F>(states[column], column, width, index, stack);
}

template <class F>
__global__ void DrainKernel(const typename F::State* stack, std::int64_t width, std::int64_t count,
                            const __grid_constant__ Sink<F> sink) {
  const std::int64_t column = std::int64_t{blockIdx.x} * kStackThreads + threadIdx.x;
  if (column >= width) return;
  typename F::State state = F::IdentityState();
  for (int level = 0; (count >> level) != 0; ++level) {
    if ((count >> level) & 1) state = F::Combine(stack[level * width + column], state);
  }
  sink.Put(0, column, state);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_STACK_KERNELS_CUH_
