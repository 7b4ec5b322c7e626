// The pinned staging buffers of a worker, each with a buffer on the device: while one is being
// filled, the ones before it are on their way to the device, or being folded there.
//
// Buffers are used in turns. A staging buffer's events say when the host may write it again, and
// how long its stages took. Belongs to one thread at a time.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_STAGING_RING_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_STAGING_RING_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/device_use.h"
#include "server/device/executor.h"

namespace warpfold {

class StagingRing {
 public:
  // `use` counts what is copied and folded, and outlives this.
  explicit StagingRing(DeviceUse& use) : use_(use) {}

  // Of `count` staging buffers of `staging_buffer_bytes`, one behind the other at `pinned`, and
  // their device buffers at `d_data`.
  absl::Status Make(std::byte* pinned, std::byte* d_data, std::size_t count,
                    std::size_t staging_buffer_bytes);

  std::size_t staging_buffer_bytes() const { return buffer_bytes_; }
  std::size_t total_bytes() const { return buffers_.size() * buffer_bytes_; }

  // The staging buffer whose turn it is.
  std::byte* current() const { return buffers_[at_].pinned; }
  // Waits until the device has let go of it.
  absl::Status Await();

  // Sends `bytes` bytes from `pinned`, which is that staging buffer or memory that is mapped, in
  // `copies` to `d_to`. Then it is the next one's turn.
  absl::Status Copy(const std::byte* pinned, std::byte* d_to, std::size_t bytes,
                    cudaStream_t copies);
  // The same to the device buffer behind it, which `fold` is called with, behind it, to fold it in
  // `stream`.
  absl::Status CopyAndFold(const std::byte* pinned, std::size_t bytes, cudaStream_t copies,
                           cudaStream_t stream,
                           absl::FunctionRef<absl::Status(const std::byte* d_data)> fold);

  // Waits until the device touches none.
  absl::Status AwaitAll();
  // The device touches none any more, says who has waited for both streams.
  void Forget();

  // How long the copies and folds took that were waited for since it was last asked.
  DeviceTimes TakeTimes();

 private:
  struct Buffer {
    std::byte* pinned = nullptr;
    std::byte* d_data = nullptr;
    cuda::UniqueEvent copy_begins, copy_ends, fold_begins, fold_ends;
    bool in_flight = false;
    bool is_folded = false;  // on the way, behind the copy
    std::size_t bytes = 0;   // that are in flight
  };

  // What the device does last with a staging buffer in flight.
  static cudaEvent_t LastEvent(const Buffer& buffer) {
    return buffer.is_folded ? buffer.fold_ends.get() : buffer.copy_ends.get();
  }
  absl::Status Send(Buffer& buffer, const std::byte* pinned, std::byte* d_to, std::size_t bytes,
                    cudaStream_t copies);
  absl::Status Release(Buffer& buffer);
  void Next() { at_ = (at_ + 1) % buffers_.size(); }

  DeviceUse& use_;
  std::size_t buffer_bytes_ = 0;
  std::vector<Buffer> buffers_;
  std::size_t at_ = 0;
  DeviceTimes times_;
};

// Between two events that have happened.
absl::StatusOr<std::chrono::nanoseconds> Elapsed(const cuda::UniqueEvent& from,
                                                 const cuda::UniqueEvent& to);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_STAGING_RING_H_
