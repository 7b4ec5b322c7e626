// One device's share of the bytes of a resident tensor: all of them, or a range where the tensor is
// laid out over several devices (shard_layout.h).
//
// Step of a request: 2, decide. A value; the tensor's lease keeps what it points at.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_SHARD_H_
#define WARPFOLD_SERVER_CORE_TENSORS_SHARD_H_

#include <cstddef>
#include <cstdint>

#include "server/device/executor.h"

namespace warpfold {

struct Shard {
  const DeviceInfo* device = nullptr;
  std::byte* data = nullptr;      // on the device; null when there are no bytes
  std::int64_t offset_bytes = 0;  // in the tensor
  std::int64_t size_bytes = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_SHARD_H_
