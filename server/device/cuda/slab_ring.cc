#include "server/device/cuda/slab_ring.h"

#include <chrono>
#include <cstdint>
#include <utility>

namespace warpfold {

absl::StatusOr<std::chrono::nanoseconds> Elapsed(const cuda::UniqueEvent& from,
                                                 const cuda::UniqueEvent& to) {
  float milliseconds = 0;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, from.get(), to.get()));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6f));
}

absl::Status SlabRing::Make(std::byte* pinned, std::byte* d_data, std::size_t count,
                            std::size_t slab_bytes) {
  slab_bytes_ = slab_bytes;
  slabs_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Slab& slab = slabs_[i];
    slab.pinned = pinned + i * slab_bytes;
    slab.d_data = d_data + i * slab_bytes;
    for (cuda::UniqueEvent* event :
         {&slab.copy_begins, &slab.copy_ends, &slab.fold_begins, &slab.fold_ends}) {
      absl::StatusOr<cuda::UniqueEvent> made = cuda::MakeTimingEvent();
      if (!made.ok()) return made.status();
      *event = *std::move(made);
    }
  }
  return absl::OkStatus();
}

// Counts the wait if it takes one.
absl::Status SlabRing::Await() {
  Slab& slab = slabs_[at_];
  if (!slab.in_flight || cudaEventQuery(LastEvent(slab)) != cudaErrorNotReady) {
    return Release(slab);
  }
  (void)cudaGetLastError();  // no fault of the calls that follow, which would find it there
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = Release(slab);
  use_.AddSlabWait(std::chrono::steady_clock::now() - start);
  return status;
}

// Waits until the device no longer touches `slab` and counts its times.
absl::Status SlabRing::Release(Slab& slab) {
  if (!slab.in_flight) return absl::OkStatus();
  slab.in_flight = false;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(LastEvent(slab)));
  absl::StatusOr<std::chrono::nanoseconds> copy = Elapsed(slab.copy_begins, slab.copy_ends);
  if (!copy.ok()) return copy.status();
  use_.AddCopy(slab.bytes, *copy);
  times_.host_to_device += *copy;
  if (!slab.is_folded) return absl::OkStatus();
  absl::StatusOr<std::chrono::nanoseconds> fold = Elapsed(slab.fold_begins, slab.fold_ends);
  if (!fold.ok()) return fold.status();
  use_.AddKernels(slab.bytes, *fold);
  times_.kernel += *fold;
  return absl::OkStatus();
}

absl::Status SlabRing::Send(Slab& slab, const std::byte* pinned, std::byte* d_to, std::size_t bytes,
                            cudaStream_t copies) {
  slab.in_flight = true;
  slab.bytes = bytes;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_begins.get(), copies));
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(d_to, pinned, bytes, cudaMemcpyHostToDevice, copies));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_ends.get(), copies));
  return absl::OkStatus();
}

absl::Status SlabRing::Copy(const std::byte* pinned, std::byte* d_to, std::size_t bytes,
                            cudaStream_t copies) {
  Slab& slab = slabs_[at_];
  slab.is_folded = false;
  if (absl::Status sent = Send(slab, pinned, d_to, bytes, copies); !sent.ok()) return sent;
  Next();
  return absl::OkStatus();
}

absl::Status SlabRing::CopyAndFold(const std::byte* pinned, std::size_t bytes, cudaStream_t copies,
                                   cudaStream_t stream,
                                   absl::FunctionRef<absl::Status(const std::byte* d_data)> fold) {
  Slab& slab = slabs_[at_];
  slab.is_folded = true;
  if (absl::Status sent = Send(slab, pinned, slab.d_data, bytes, copies); !sent.ok()) return sent;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, slab.copy_ends.get(), 0));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.fold_begins.get(), stream));
  if (absl::Status folded = fold(slab.d_data); !folded.ok()) return folded;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.fold_ends.get(), stream));
  Next();
  return absl::OkStatus();
}

absl::Status SlabRing::AwaitAll() {
  for (Slab& slab : slabs_) {
    if (absl::Status status = Release(slab); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void SlabRing::Forget() {
  for (Slab& slab : slabs_) slab.in_flight = false;
  times_ = {};
}

DeviceTimes SlabRing::TakeTimes() { return std::exchange(times_, {}); }

}  // namespace warpfold
