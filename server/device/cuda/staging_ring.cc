#include "server/device/cuda/staging_ring.h"

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

absl::Status StagingRing::Make(std::byte* pinned, std::byte* d_data, std::size_t count,
                               std::size_t staging_buffer_bytes) {
  buffer_bytes_ = staging_buffer_bytes;
  buffers_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = buffers_[i];
    buffer.pinned = pinned + i * staging_buffer_bytes;
    buffer.d_data = d_data + i * staging_buffer_bytes;
    for (cuda::UniqueEvent* event :
         {&buffer.copy_begins, &buffer.copy_ends, &buffer.fold_begins, &buffer.fold_ends}) {
      absl::StatusOr<cuda::UniqueEvent> made = cuda::MakeTimingEvent();
      if (!made.ok()) return made.status();
      *event = *std::move(made);
    }
  }
  return absl::OkStatus();
}

// Counts the wait if it takes one.
absl::Status StagingRing::Await() {
  Buffer& buffer = buffers_[at_];
  if (!buffer.in_flight || cudaEventQuery(LastEvent(buffer)) != cudaErrorNotReady) {
    return Release(buffer);
  }
  (void)cudaGetLastError();  // clears it: the next call would report it
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = Release(buffer);
  use_.AddStagingBufferWait(std::chrono::steady_clock::now() - start);
  return status;
}

// Waits until the device no longer touches `staging buffer` and counts its times.
absl::Status StagingRing::Release(Buffer& buffer) {
  if (!buffer.in_flight) return absl::OkStatus();
  buffer.in_flight = false;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(LastEvent(buffer)));
  absl::StatusOr<std::chrono::nanoseconds> copy = Elapsed(buffer.copy_begins, buffer.copy_ends);
  if (!copy.ok()) return copy.status();
  use_.AddCopy(buffer.bytes, *copy);
  times_.host_to_device += *copy;
  if (!buffer.is_folded) return absl::OkStatus();
  absl::StatusOr<std::chrono::nanoseconds> fold = Elapsed(buffer.fold_begins, buffer.fold_ends);
  if (!fold.ok()) return fold.status();
  use_.AddKernels(buffer.bytes, *fold);
  times_.kernel += *fold;
  return absl::OkStatus();
}

absl::Status StagingRing::Send(Buffer& buffer, const std::byte* pinned, std::byte* d_to,
                               std::size_t bytes, cudaStream_t copies) {
  buffer.in_flight = true;
  buffer.bytes = bytes;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(buffer.copy_begins.get(), copies));
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(d_to, pinned, bytes, cudaMemcpyHostToDevice, copies));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(buffer.copy_ends.get(), copies));
  return absl::OkStatus();
}

absl::Status StagingRing::Copy(const std::byte* pinned, std::byte* d_to, std::size_t bytes,
                               cudaStream_t copies) {
  Buffer& buffer = buffers_[at_];
  buffer.is_folded = false;
  if (absl::Status sent = Send(buffer, pinned, d_to, bytes, copies); !sent.ok()) return sent;
  Next();
  return absl::OkStatus();
}

absl::Status StagingRing::CopyAndFold(
    const std::byte* pinned, std::size_t bytes, cudaStream_t copies, cudaStream_t stream,
    absl::FunctionRef<absl::Status(const std::byte* d_data)> fold) {
  Buffer& buffer = buffers_[at_];
  buffer.is_folded = true;
  if (absl::Status sent = Send(buffer, pinned, buffer.d_data, bytes, copies); !sent.ok())
    return sent;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, buffer.copy_ends.get(), 0));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(buffer.fold_begins.get(), stream));
  if (absl::Status folded = fold(buffer.d_data); !folded.ok()) return folded;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(buffer.fold_ends.get(), stream));
  Next();
  return absl::OkStatus();
}

absl::Status StagingRing::AwaitAll() {
  for (Buffer& buffer : buffers_) {
    if (absl::Status status = Release(buffer); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void StagingRing::Forget() {
  for (Buffer& buffer : buffers_) buffer.in_flight = false;
  times_ = {};
}

DeviceTimes StagingRing::TakeTimes() { return std::exchange(times_, {}); }

}  // namespace warpfold
