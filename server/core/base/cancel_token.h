// Why nobody wants the answer of a task any more: its client has gone, its deadline has passed, its
// tensor has ended, another shard has failed.
//
// Safe from any thread; it must outlive whoever asks it. The first reason is the only one: what it
// has said once it says for ever, whatever comes later. It wakes nobody: what waits for a client
// asks it when it goes on, and whoever cancels sees to it that it does.
#ifndef WARPFOLD_SERVER_CORE_BASE_CANCEL_TOKEN_H_
#define WARPFOLD_SERVER_CORE_BASE_CANCEL_TOKEN_H_

#include <atomic>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace warpfold {

class CancelToken {
 public:
  using Clock = std::chrono::system_clock;
  static constexpr Clock::time_point kNoDeadline = Clock::time_point::max();

  // Cancelled when `deadline` comes, and with `parent`, for its reason; that must outlive it.
  explicit CancelToken(Clock::time_point deadline = kNoDeadline,
                       const CancelToken* parent = nullptr)
      : deadline_(deadline), parent_(parent) {}
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // Gives `why`, which is not OK, as a reason. True: it was the first one.
  bool Cancel(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // OK while the answer is wanted, then the first reason. Never waits; takes no lock before there
  // is a reason, and reads the clock only where there is a deadline.
  absl::Status CheckCancelled() const { return HasReason() ? Reason() : absl::OkStatus(); }

 private:
  bool HasReason() const {
    return is_cancelled_.load(std::memory_order_acquire) ||
           (deadline_ != kNoDeadline && Clock::now() >= deadline_) ||
           (parent_ != nullptr && parent_->HasReason());
  }
  // REQUIRES: HasReason() has said true.
  absl::Status Reason() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The reason that nobody gave: the parent's, or the clock's.
  absl::Status Unspoken() const;
  // True: it is the first.
  bool Keep(const absl::Status& why) const ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock::time_point deadline_;
  const CancelToken* const parent_;
  mutable std::atomic<bool> is_cancelled_{false};  // why_ has been kept
  mutable absl::Mutex mutex_;
  mutable absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_CANCEL_TOKEN_H_
