// The right of one call to use a resident tensor: while it is held the tensor's memory stays where
// it is.
//
// Step of a request: 2, decide, until the answer. Move-only; a default or moved-from lease holds
// nothing. Not safe for concurrent use. Leases give back what they hold in their destructor and
// must not outlive the table (tensor_table.h) that made them.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_TENSOR_LEASE_H_
#define WARPFOLD_SERVER_CORE_TENSORS_TENSOR_LEASE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/types.h"
#include "server/core/base/cancel_token.h"
#include "server/core/tensors/byte_ranges.h"
#include "server/core/tensors/shard.h"
#include "server/device/executor.h"

namespace warpfold {

class TensorTable;
struct ResidentTensor;

// What a tensor is, without its bytes.
struct TensorShape {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> lengths;  // of its dimensions, outermost first
  std::int64_t size_bytes = 0;

  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// A reduction reads the tensor. Any number at a time; nobody writes meanwhile.
class TensorReadLease {
 public:
  TensorReadLease() = default;
  TensorReadLease(TensorReadLease&& other) noexcept = default;
  TensorReadLease& operator=(TensorReadLease&& other) noexcept {
    Release();
    table_ = other.table_;
    tensor_ = std::move(other.tensor_);
    return *this;
  }
  ~TensorReadLease() { Release(); }

  explicit operator bool() const { return tensor_ != nullptr; }
  // REQUIRES: it holds a tensor.
  const TensorShape& shape() const;
  const DeviceInfo& devices() const;  // on which it lies, in one
  // At least one; they are the tensor's bytes, in order.
  absl::Span<const Shard> shards() const;

  // Gives the tensor back, or, with `consume`, ends it.
  void Release(bool consume = false);

 private:
  friend class TensorTable;
  TensorReadLease(TensorTable* table, std::shared_ptr<ResidentTensor> tensor)
      : table_(table), tensor_(std::move(tensor)) {}

  TensorTable* table_ = nullptr;
  std::shared_ptr<ResidentTensor> tensor_;
};

// A call writes one range of the tensor, alone.
class TensorWriteLease {
 public:
  TensorWriteLease() = default;
  TensorWriteLease(TensorWriteLease&& other) noexcept = default;
  TensorWriteLease& operator=(TensorWriteLease&& other) noexcept {
    Release();
    table_ = other.table_;
    tensor_ = std::move(other.tensor_);
    range_ = other.range_;
    writer_ = other.writer_;
    shards_ = std::move(other.shards_);
    return *this;
  }
  ~TensorWriteLease() { Release(); }

  // REQUIRES: it holds a tensor.
  std::int64_t size_bytes() const { return range_.size(); }
  // At least one; they are the range's bytes, in order.
  absl::Span<const Shard> shards() const { return shards_; }

  // All bytes of the range are in place: gives the tensor back. The bytes that it still misses.
  // NOT_FOUND: it has ended.
  absl::StatusOr<std::int64_t> Commit();

  // Gives the tensor back, the range not written.
  void Release();

 private:
  friend class TensorTable;
  TensorWriteLease(TensorTable* table, std::shared_ptr<ResidentTensor> tensor,
                   const ByteRange& range, CancelToken* writer);

  TensorTable* table_ = nullptr;
  std::shared_ptr<ResidentTensor> tensor_;
  ByteRange range_;
  CancelToken* writer_ = nullptr;
  std::vector<Shard> shards_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_TENSOR_LEASE_H_
