// A resident tensor as the table and its leases share it; for core/tensor_table.cc and
// core/tensor_lease.cc alone.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_RESIDENT_TENSOR_H_
#define WARPFOLD_SERVER_CORE_TENSORS_RESIDENT_TENSOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/core/base/caller.h"
#include "server/core/base/cancel_token.h"
#include "server/core/tensors/byte_ranges.h"
#include "server/core/tensors/shard.h"
#include "server/core/tensors/tensor_lease.h"
#include "server/core/tensors/tensor_placement.h"
#include "server/device/executor.h"

namespace warpfold {

struct ResidentTensor {
  // Unchanged from its making; `memory` until nobody uses the tensor any more.
  std::string id;
  Access access;
  TensorShape shape;
  std::chrono::milliseconds ttl{0};
  std::vector<PlacedRange> places;                    // at least one
  std::vector<Shard> shards;                          // one a place
  DeviceInfo devices;                                 // all of them: "cuda:0,cuda:1"
  std::vector<std::unique_ptr<TensorMemory>> memory;  // one a shard that has bytes

  // Guarded by the table's lock.
  ByteRanges written;
  ByteRanges being_written;
  std::int64_t reductions = 0;
  std::int64_t writes = 0;
  std::vector<CancelToken*> writers;  // of writes: to hear of the end
  bool ended = false;
  std::chrono::steady_clock::time_point last_use;

  std::int64_t missing_bytes() const { return shape.size_bytes - written.size_bytes(); }
  bool in_use() const { return reductions + writes > 0; }
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_RESIDENT_TENSOR_H_
