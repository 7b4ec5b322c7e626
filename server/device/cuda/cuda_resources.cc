#include "server/device/cuda/cuda_resources.h"

#include "absl/strings/str_cat.h"

namespace warpfold::cuda {

absl::Status ToStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat("CUDA: ", cudaGetErrorName(error), ": ",
                                           cudaGetErrorString(error), " in ", what);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // no fault of the calls that follow, which would find it there
    return absl::ResourceExhaustedError(message);
  }
  return absl::UnavailableError(message);
}

absl::StatusOr<UniqueStream> MakeStream() {
  cudaStream_t stream = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return UniqueStream(stream);
}

absl::StatusOr<UniqueEvent> MakeTimingEvent() {
  cudaEvent_t event = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDefault));
  return UniqueEvent(event);
}

absl::StatusOr<UniqueDeviceMemory> AllocateDevice(std::size_t bytes) {
  void* memory = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMalloc(&memory, bytes));
  return UniqueDeviceMemory(static_cast<std::byte*>(memory));
}

absl::StatusOr<UniquePinnedMemory> AllocatePinned(std::size_t bytes) {
  void* memory = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
  return UniquePinnedMemory(static_cast<std::byte*>(memory));
}

}  // namespace warpfold::cuda
