#include "server/core/base/cancel_token.h"

namespace warpfold {

bool CancelToken::Cancel(const absl::Status& why) {
  // A reason that nobody has asked for yet was there before.
  const bool is_first = !HasReason();
  return Keep(is_first ? why : Unspoken()) && is_first;
}

absl::Status CancelToken::Reason() const {
  if (!is_cancelled_.load(std::memory_order_acquire)) Keep(Unspoken());
  absl::MutexLock lock(&mutex_);
  return why_;
}

absl::Status CancelToken::Unspoken() const {
  if (parent_ != nullptr && parent_->HasReason()) return parent_->Reason();
  return absl::DeadlineExceededError("the deadline has passed");
}

bool CancelToken::Keep(const absl::Status& why) const {
  absl::MutexLock lock(&mutex_);
  if (!why_.ok()) return false;
  why_ = why;
  is_cancelled_.store(true, std::memory_order_release);
  return true;
}

}  // namespace warpfold
