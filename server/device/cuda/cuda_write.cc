#include "server/device/cuda/cuda_write.h"

#include <utility>

namespace warpfold {

absl::StatusOr<absl::Span<std::byte>> CudaWrite::Buffer(CudaWorkspace& workspace) {
  if (absl::Status status = workspace.staging.Await(); !status.ok()) return status;
  return absl::MakeSpan(workspace.staging.current() + filled_, SegmentBytes(workspace) - filled_);
}

absl::Status CudaWrite::Commit(CudaWorkspace& workspace, std::size_t byte_count) {
  filled_ += byte_count;
  if (filled_ < SegmentBytes(workspace)) return absl::OkStatus();
  StagingRing& staging_buffers = workspace.staging;
  absl::Status sent =
      staging_buffers.Copy(staging_buffers.current(), d_to_, filled_, workspace.copies.get());
  if (!sent.ok()) return sent;
  d_to_ += filled_;
  missing_bytes_ -= std::exchange(filled_, 0);
  return absl::OkStatus();
}

}  // namespace warpfold
