// A client's POSIX shared memory, mapped and locked for the GPUs to read in place.
//
// The client may truncate its segment at any time. That unmaps the pages here, and whoever touches
// them with a processor is killed by SIGBUS; but registering them with the driver has pinned them,
// so that they stay what they were for the GPU until they are unregistered. So: no code of this
// process reads or writes the mapping, ever; GPUs copy from it, and nobody else.
// docs/shared_memory.md has the reasons and what was tried.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_SHARED_MAPPING_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_SHARED_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/device/executor.h"

namespace warpfold {

class SharedMapping final : public TensorMemory {
 public:
  // As Executor::MapShared. Null on a GPU `ordinal` that would read through the processor's page
  // tables, where the driver pins nothing, or that takes no registered memory.
  static absl::StatusOr<std::unique_ptr<TensorMemory>> Make(int ordinal, int descriptor,
                                                            std::int64_t offset_bytes,
                                                            std::size_t size_bytes);

  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  // Waits for the driver, which may wait for the GPUs.
  ~SharedMapping() override;

  std::byte* data() const override { return pages_ + begin_; }

 private:
  SharedMapping(std::byte* pages, std::size_t mapped_bytes, std::size_t begin)
      : pages_(pages), mapped_bytes_(mapped_bytes), begin_(begin) {}

  std::byte* const pages_;  // whole ones
  const std::size_t mapped_bytes_;
  const std::size_t begin_;  // of what was asked for, in the first
  bool is_registered_ = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_SHARED_MAPPING_H_
