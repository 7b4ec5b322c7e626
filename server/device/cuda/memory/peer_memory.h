// Memory that another process took with cudaMalloc, opened here by CUDA's interprocess handle.
//
// The handle comes from a client: whatever its 64 bytes are, opening them answers or refuses. What
// the driver opened is as long as the other process's allocation, which is asked for, because a
// kernel that reads past it would end the context for every request. The other process must keep
// its allocation until this is gone; nothing here can see to that.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_PEER_MEMORY_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_PEER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/executor.h"

namespace warpfold {

class CudaPeerMemory final : public PeerMemory {
 public:
  // As Executor::OpenPeer, on GPU `ordinal`.
  static absl::StatusOr<std::unique_ptr<PeerMemory>> Open(int ordinal, absl::string_view handle,
                                                          std::int64_t size_bytes);

  CudaPeerMemory(const CudaPeerMemory&) = delete;
  CudaPeerMemory& operator=(const CudaPeerMemory&) = delete;
  ~CudaPeerMemory() override;

  std::byte* data() const override { return d_data_; }
  absl::Status Write(std::int64_t offset_bytes, absl::string_view bytes) override;

 private:
  CudaPeerMemory(int ordinal, std::byte* d_data) : ordinal_(ordinal), d_data_(d_data) {}

  const int ordinal_;
  std::byte* const d_data_;
  cuda::UniqueStream stream_;  // of writes
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_PEER_MEMORY_H_
