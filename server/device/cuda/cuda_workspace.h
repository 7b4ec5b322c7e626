// What a worker of a GPU owns, whatever runs on it: two exclusive streams, a ring of staging
// buffers, memory for results and scratch.
//
// Copies of staging buffers have a stream of their own: on one stream the bus would lie idle during
// every fold. Belongs to one thread at a time.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKSPACE_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKSPACE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/launch_plan.h"
#include "server/device/cuda/cuda_folds.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/cuda/staging_ring.h"
#include "server/device/device_use.h"
#include "server/device/executor.h"

namespace warpfold {

struct CudaWorkspace {
  // Results and scratch of a worker: enough for a SUM of 64 GiB of floats, of which every 64 KiB
  // leave a partial of 8 bytes. What needs more takes three calls of the driver and a launch
  // beside.
  static constexpr std::size_t kOwnBytes = std::size_t{8} << 20;
  // Results of up to so many bytes the kernels write to pinned memory themselves. A copy of them
  // takes the device 7 us after the last kernel (H200, 2026-11-21).
  static constexpr std::size_t kPinnedResultBytes = std::size_t{4} << 10;
  // The overflow report comes first in the worker's own memory.
  static constexpr std::size_t kOverflowBytes = 256;
  // And in pinned memory, behind the report, how many outputs are undecided.
  static constexpr std::size_t kUndecidedBytes = 256;

  // `device_use` outlives it. REQUIRES: `on` is this thread's device.
  static absl::StatusOr<std::unique_ptr<CudaWorkspace>> Make(int on,
                                                             const cuda::DeviceShape& device_shape,
                                                             const WorkerOptions& worker_options,
                                                             DeviceUse& device_use);

  CudaWorkspace(int on, const cuda::DeviceShape& device_shape, const WorkerOptions& worker_options,
                DeviceUse& device_use)
      : ordinal(on),
        shape(device_shape),
        options(worker_options),
        use(device_use),
        staging(device_use) {}

  // Behind the staging buffers in pinned memory: small results, the report, the number of
  // undecided outputs.
  std::byte* staging_memory() const { return pinned.get(); }
  std::byte* pinned_results() const { return pinned.get() + staging.total_bytes(); }
  std::byte* pinned_overflow() const { return pinned_results() + kPinnedResultBytes; }
  UndecidedCounts* undecided() const {
    return reinterpret_cast<UndecidedCounts*>(pinned_overflow() + kOverflowBytes);
  }
  // Behind the buffers on the device that go with them: the report, results and scratch, zeros.
  std::byte* d_overflow() const { return d_memory.get() + staging.total_bytes(); }
  std::byte* d_own() const { return d_overflow() + kOverflowBytes; }
  std::byte* d_zeros() const { return d_own() + kOwnBytes; }

  // Nothing has overflown. Waits.
  absl::Status ResetOverflow();
  // Waits until nothing is on its way; errors were, or will be, reported by the calls that need the
  // device.
  void Quiesce();

  const int ordinal;
  const cuda::DeviceShape shape;
  const WorkerOptions options;
  DeviceUse& use;
  cuda::UniqueStream copies;  // of staging buffers to the device
  cuda::UniqueStream stream;  // everything else
  cuda::UniquePinnedMemory pinned;
  cuda::UniqueDeviceMemory d_memory;
  StagingRing staging;
  cuda::UniqueEvent finish_begins, finish_ends, results_copied;

 private:
  absl::Status Allocate();
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKSPACE_H_
