// A write of a resident tensor on a GPU, through a worker's staging_buffers.
//
// Step of a request: 3. Belongs to one thread at a time.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WRITE_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WRITE_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/device/cuda/cuda_workspace.h"

namespace warpfold {

class CudaWrite {
 public:
  // Of `size_bytes` bytes to `d_to`.
  CudaWrite(std::byte* d_to, std::size_t size_bytes) : d_to_(d_to), missing_bytes_(size_bytes) {}

  // As Worker's.
  absl::StatusOr<absl::Span<std::byte>> Buffer(CudaWorkspace& workspace);
  absl::Status Commit(CudaWorkspace& workspace, std::size_t byte_count);

 private:
  // Of the staging buffer that is being filled.
  std::size_t SegmentBytes(const CudaWorkspace& workspace) const {
    return std::min(workspace.options.staging_buffer_bytes, missing_bytes_);
  }

  std::byte* d_to_;            // where that staging buffer goes
  std::size_t missing_bytes_;  // from there on
  std::size_t filled_ = 0;     // bytes of it
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WRITE_H_
