// Owners of CUDA objects, and CUDA errors as statuses. All calls report failure; none is ignored
// but in destructors, where an error can only repeat what an earlier call has said.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_CUDA_RESOURCES_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_CUDA_RESOURCES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace warpfold::cuda {

// OK; RESOURCE_EXHAUSTED when device or pinned memory ran out; DeviceLostError when this thread's
// device answers nothing any more; INTERNAL when it does, and the call alone has failed. `what`
// names the call. Does not wait, and leaves no error behind for the calls that follow.
absl::Status ToStatus(cudaError_t error, const char* what);

// Makes `ordinal` this thread's device. RESOURCE_EXHAUSTED, DeviceLostError.
absl::Status SetDevice(int ordinal);

struct StreamDeleter {
  void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
};
using UniqueStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamDeleter>;

struct EventDeleter {
  void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
};
using UniqueEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EventDeleter>;

struct DeviceDeleter {
  void operator()(std::byte* memory) const { (void)cudaFree(memory); }
};
using UniqueDeviceMemory = std::unique_ptr<std::byte, DeviceDeleter>;

struct PinnedDeleter {
  void operator()(std::byte* memory) const { (void)cudaFreeHost(memory); }
};
using UniquePinnedMemory = std::unique_ptr<std::byte, PinnedDeleter>;

// Where kernels of several streams wait for the GPU, blocks of kHighest come first; those that run
// go on.
enum class StreamPriority { kLowest, kHighest };
absl::StatusOr<UniqueStream> MakeStream(StreamPriority priority = StreamPriority::kLowest);
absl::StatusOr<UniqueEvent> MakeTimingEvent();
absl::StatusOr<UniqueDeviceMemory> AllocateDevice(std::size_t bytes);
absl::StatusOr<UniquePinnedMemory> AllocatePinned(std::size_t bytes);

}  // namespace warpfold::cuda

// Makes `ordinal` this thread's device, or returns why it cannot from the enclosing function.
#define WARPFOLD_RETURN_IF_NOT_SET(ordinal)                                             \
  do {                                                                                  \
    if (absl::Status set = ::warpfold::cuda::SetDevice(ordinal); !set.ok()) return set; \
  } while (false)

// Returns the status of a CUDA call from the enclosing function unless it succeeded.
#define WARPFOLD_RETURN_IF_CUDA_ERROR(call)                                 \
  do {                                                                      \
    if (const cudaError_t cuda_error = (call); cuda_error != cudaSuccess) { \
      return ::warpfold::cuda::ToStatus(cuda_error, #call);                 \
    }                                                                       \
  } while (false)

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_CUDA_RESOURCES_H_
