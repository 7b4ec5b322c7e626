#include "server/device/cuda/cuda_folds.h"
#include "server/device/cuda/cuda_resources.h"

namespace warpfold {

absl::Status CudaBackend::FoldElements(const void* d_data, const Extent& extent,
                                       const Output& output, void* d_scratch) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cuda::FoldElements(job_, d_data, extent, output, d_scratch, stream_));
  return absl::OkStatus();
}

absl::Status CudaBackend::FoldStates(const void* d_states, const Extent& extent,
                                     const Output& output, void* d_scratch) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cuda::FoldStates(job_, d_states, extent, output, d_scratch, stream_));
  return absl::OkStatus();
}

absl::Status CudaBackend::PushStates(const void* d_states, std::int64_t width, std::int64_t index,
                                     void* d_stack) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::PushStates(job_, d_states, width, index, d_stack, stream_));
  return absl::OkStatus();
}

absl::Status CudaBackend::DrainStack(const void* d_stack, std::int64_t width, std::int64_t count,
                                     const Output& output) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::DrainStack(job_, d_stack, width, count, output, stream_));
  return absl::OkStatus();
}

absl::Status CudaBackend::Copy(void* d_to, const void* d_from, std::size_t bytes) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(d_to, d_from, bytes, cudaMemcpyDeviceToDevice, stream_));
  return absl::OkStatus();
}

}  // namespace warpfold
