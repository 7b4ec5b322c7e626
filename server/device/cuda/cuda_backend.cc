#include "server/device/cuda/cuda_folds.h"
#include "server/device/cuda/memory/cuda_resources.h"

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

absl::Status CudaBackend::JoinStates(const void* d_states, std::int64_t count, void* d_to) {
  WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::JoinStates(job_, d_states, count, d_to, stream_));
  return absl::OkStatus();
}

}  // namespace warpfold
