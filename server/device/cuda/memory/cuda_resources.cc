#include "server/device/cuda/memory/cuda_resources.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/device/device_error.h"

namespace warpfold::cuda {

namespace {

// Whether every call fails from now on: an error that its call alone has made is gone once it was
// asked for, one that has ended the context comes again. This call does not wait.
bool DeviceIsLost() {
  const cudaError_t again = cudaStreamQuery(cudaStreamLegacy);
  (void)cudaGetLastError();  // also cudaErrorNotReady, which is none
  return again != cudaSuccess && again != cudaErrorNotReady;
}

}  // namespace

absl::Status ToStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat("CUDA: ", cudaGetErrorName(error), ": ",
                                           cudaGetErrorString(error), " in ", what);
  (void)cudaGetLastError();  // clears it: the next call would report it
  if (error == cudaErrorMemoryAllocation) return absl::ResourceExhaustedError(message);
  return DeviceIsLost() ? DeviceLostError(message) : absl::InternalError(message);
}

absl::Status SetDevice(int ordinal) {
  absl::Status status = ToStatus(cudaSetDevice(ordinal), "cudaSetDevice");
  // The thread has kept the device it had, which may well answer.
  return absl::IsInternal(status) ? DeviceLostError(status.message()) : status;
}

absl::StatusOr<UniqueStream> MakeStream(StreamPriority priority) {
  int lowest = 0;
  int highest = 0;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithPriority(
      &stream, cudaStreamNonBlocking, priority == StreamPriority::kHighest ? highest : lowest));
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
