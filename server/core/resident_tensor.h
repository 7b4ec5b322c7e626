// A resident tensor as the table and its leases share it; for core/tensor_table.cc and
// core/tensor_lease.cc alone.
#ifndef WARPFOLD_SERVER_CORE_RESIDENT_TENSOR_H_
#define WARPFOLD_SERVER_CORE_RESIDENT_TENSOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/core/byte_ranges.h"
#include "server/core/tensor_lease.h"
#include "server/device/executor.h"

namespace warpfold {

struct ResidentTensor {
  // Unchanged from its making; `memory` until nobody uses the tensor any more.
  std::string id;
  TensorShape shape;
  std::chrono::milliseconds ttl{0};
  std::size_t home = 0;                  // number of its device
  const DeviceInfo* device = nullptr;    // that one's
  std::unique_ptr<TensorMemory> memory;  // null when it has no bytes

  // Guarded by the table's lock.
  ByteRanges written;
  ByteRanges being_written;
  std::int64_t reductions = 0;
  std::int64_t writes = 0;
  bool ended = false;
  std::chrono::steady_clock::time_point last_use;

  std::byte* data() const { return memory != nullptr ? memory->data() : nullptr; }
  std::int64_t missing_bytes() const { return shape.size_bytes - written.size_bytes(); }
  bool in_use() const { return reductions + writes > 0; }
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_RESIDENT_TENSOR_H_
