#include "server/core/tensors/tensor_lease.h"

#include <algorithm>

#include "server/core/tensors/resident_tensor.h"
#include "server/core/tensors/tensor_table.h"

namespace warpfold {

const TensorShape& TensorReadLease::shape() const { return tensor_->shape; }
const DeviceInfo& TensorReadLease::devices() const { return tensor_->devices; }
absl::Span<const Shard> TensorReadLease::shards() const { return tensor_->shards; }

void TensorReadLease::Release(bool consume) {
  if (tensor_ == nullptr) return;
  table_->EndRead(tensor_, consume);
  tensor_ = nullptr;
}

TensorWriteLease::TensorWriteLease(TensorTable* table, std::shared_ptr<ResidentTensor> tensor,
                                   const ByteRange& range, CancelToken* writer)
    : table_(table), tensor_(std::move(tensor)), range_(range), writer_(writer) {
  for (const Shard& shard : tensor_->shards) {
    const std::int64_t begin = std::max(range.begin, shard.offset_bytes);
    const std::int64_t end = std::min(range.end, shard.offset_bytes + shard.size_bytes);
    if (begin >= end) continue;
    shards_.push_back(
        {shard.device, shard.data + (begin - shard.offset_bytes), begin, end - begin});
  }
}

absl::StatusOr<std::int64_t> TensorWriteLease::Commit() {
  absl::StatusOr<std::int64_t> missing =
      table_->EndWrite(tensor_, range_, writer_, /*is_written=*/true);
  tensor_ = nullptr;
  return missing;
}

void TensorWriteLease::Release() {
  if (tensor_ == nullptr) return;
  table_->EndWrite(tensor_, range_, writer_, /*is_written=*/false).IgnoreError();
  tensor_ = nullptr;
}

}  // namespace warpfold
