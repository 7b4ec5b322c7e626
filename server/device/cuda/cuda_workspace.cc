#include "server/device/cuda/cuda_workspace.h"

#include <cstring>
#include <utility>

namespace warpfold {

absl::StatusOr<std::unique_ptr<CudaWorkspace>> CudaWorkspace::Make(
    int on, const cuda::DeviceShape& device_shape, const WorkerOptions& worker_options,
    DeviceUse& device_use) {
  auto made = std::make_unique<CudaWorkspace>(on, device_shape, worker_options, device_use);
  if (absl::Status status = made->Allocate(); !status.ok()) return status;
  return made;
}

absl::Status CudaWorkspace::Allocate() {
  const auto staging_count = static_cast<std::size_t>(options.staging_buffers_per_worker);
  const std::size_t ring_bytes = staging_count * options.staging_buffer_bytes;
  for (cuda::UniqueStream* made : {&copies, &stream}) {
    absl::StatusOr<cuda::UniqueStream> one = cuda::MakeStream();
    if (!one.ok()) return one.status();
    *made = *std::move(one);
  }
  absl::StatusOr<cuda::UniquePinnedMemory> on_host =
      cuda::AllocatePinned(ring_bytes + kPinnedResultBytes + kOverflowBytes + kUndecidedBytes);
  if (!on_host.ok()) return on_host.status();
  pinned = *std::move(on_host);
  absl::StatusOr<cuda::UniqueDeviceMemory> on_device =
      cuda::AllocateDevice(ring_bytes + kOverflowBytes + kOwnBytes + CudaFolds::kZerosBytes);
  if (!on_device.ok()) return on_device.status();
  d_memory = *std::move(on_device);
  absl::Status status =
      staging.Make(pinned.get(), d_memory.get(), staging_count, options.staging_buffer_bytes);
  if (!status.ok()) return status;
  for (cuda::UniqueEvent* made : {&finish_begins, &finish_ends, &results_copied}) {
    absl::StatusOr<cuda::UniqueEvent> one = cuda::MakeTimingEvent();
    if (!one.ok()) return one.status();
    *made = *std::move(one);
  }
  // Here, as in memory that a reduction takes, the gaps between results travel with them.
  std::memset(pinned_results(), 0, kPinnedResultBytes);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
      d_overflow(), 0, kOverflowBytes + kOwnBytes + CudaFolds::kZerosBytes, stream.get()));
  return ResetOverflow();
}

absl::Status CudaWorkspace::ResetOverflow() {
  const Overflow none;
  std::memcpy(pinned_overflow(), &none, sizeof(none));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(d_overflow(), pinned_overflow(), sizeof(none),
                                                cudaMemcpyHostToDevice, stream.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream.get()));
  return absl::OkStatus();
}

void CudaWorkspace::Quiesce() {
  (void)cudaStreamSynchronize(copies.get());
  (void)cudaStreamSynchronize(stream.get());
  staging.Forget();
}

}  // namespace warpfold
