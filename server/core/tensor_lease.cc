#include "server/core/tensor_lease.h"

#include "server/core/resident_tensor.h"
#include "server/core/tensor_table.h"

namespace warpfold {

const TensorShape& TensorReadLease::shape() const { return tensor_->shape; }
const DeviceInfo& TensorReadLease::device() const { return *tensor_->device; }
const std::byte* TensorReadLease::data() const { return tensor_->data(); }

void TensorReadLease::Release(bool consume) {
  if (tensor_ == nullptr) return;
  table_->EndRead(tensor_, consume);
  tensor_ = nullptr;
}

const DeviceInfo& TensorWriteLease::device() const { return *tensor_->device; }
std::byte* TensorWriteLease::data() const { return tensor_->data() + range_.begin; }

absl::Status TensorWriteLease::Wanted() const {
  if (!table_->HasEnded(*tensor_)) return absl::OkStatus();
  return absl::NotFoundError("tensor_id: the tensor has ended");
}

absl::StatusOr<std::int64_t> TensorWriteLease::Commit() {
  absl::StatusOr<std::int64_t> missing = table_->EndWrite(tensor_, range_, /*is_written=*/true);
  tensor_ = nullptr;
  return missing;
}

void TensorWriteLease::Release() {
  if (tensor_ == nullptr) return;
  table_->EndWrite(tensor_, range_, /*is_written=*/false).IgnoreError();
  tensor_ = nullptr;
}

}  // namespace warpfold
