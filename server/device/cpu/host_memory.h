// Host memory for a resident tensor, straight from the system: it is the process's from its first
// touch to its end, and no allocator keeps it after that.
#ifndef WARPFOLD_SERVER_DEVICE_CPU_HOST_MEMORY_H_
#define WARPFOLD_SERVER_DEVICE_CPU_HOST_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "server/device/executor.h"

namespace warpfold {

class HostMemory final : public TensorMemory {
 public:
  // RESOURCE_EXHAUSTED: as HostCharge::Take, or in the system's words.
  static absl::StatusOr<std::unique_ptr<TensorMemory>> Allocate(std::size_t size_bytes);

  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() override;
  std::byte* data() const override { return data_; }

 private:
  HostMemory(std::byte* data, std::size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

  std::byte* const data_;
  const std::size_t size_bytes_;
  HostCharge charge_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CPU_HOST_MEMORY_H_
