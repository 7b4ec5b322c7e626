// How long a stream waits for its client's chunks: for one no longer than --stream-idle-timeout-ms,
// for all of them no longer than that and the time of their bytes at --min-bytes-per-s. Its place,
// or its turn to be asked (upload_places.h), it keeps no longer than kPlaceWaitMax while it waits,
// and while it waits again and again, unless it brings kPlaceBytes in that time.
//
// Step of a request: 1. Times are the watchdog's. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_CHUNK_WAIT_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_CHUNK_WAIT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/limits.h"
#include "server/frontend/calls/wait_limits.h"

namespace warpfold {

class ChunkWait {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // A client whose connection is a fast one sends its next chunk much sooner.
  static constexpr Milliseconds kPlaceWaitMax{100};
  static constexpr std::int64_t kPlaceBytes = std::int64_t{64} << 10;

  // A read begins; in how long to Look, if it has not ended.
  Milliseconds Begin(Milliseconds now, const Limits& limits) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    is_waiting_ = true;
    begin_ = now;
    const Milliseconds left = limits.ReadTimeout(received_bytes_) - waited_;
    is_rate_first_ = left < limits.stream_idle_timeout;
    max_ = std::min(left, limits.stream_idle_timeout);
    return has_place_ ? std::min(max_, place_left_) : max_;
  }

  // It has brought a message with a chunk of `bytes`, or the end.
  void End(Milliseconds now, std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    is_waiting_ = false;
    waited_ += now - begin_;
    received_bytes_ += bytes;
    // Rounded down: a few bytes earn no time.
    const Milliseconds earned(bytes * kPlaceWaitMax.count() / kPlaceBytes);
    const Milliseconds left = place_left_ - (now - begin_) + earned;
    place_left_ = std::clamp(left, Milliseconds(0), kPlaceWaitMax);
  }

  // It has a place, or none, whatever the last Look has said.
  void SetPlace(bool has_place) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (has_place && !has_place_) place_left_ = kPlaceWaitMax;
    has_place_ = has_place;
  }

  bool has_brought_bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return received_bytes_ > 0;
  }
  // How long it has been waiting now.
  Milliseconds Silence(Milliseconds now) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return is_waiting_ ? now - begin_ : Milliseconds(0);
  }

  enum class Verdict { kCame, kLosesPlace, kSilent, kTooSlow };
  struct Seen {
    Verdict verdict;
    Milliseconds look_in{0};  // again, when the place is lost
  };
  Seen Look(Milliseconds now) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const Milliseconds waited = now - begin_;
    if (!is_waiting_ || (waited < max_ && !has_place_)) return {Verdict::kCame};
    if (waited >= max_) return {is_rate_first_ ? Verdict::kTooSlow : Verdict::kSilent};
    if (waited < place_left_) return {Verdict::kCame};
    has_place_ = false;
    return {Verdict::kLosesPlace, max_ - waited};
  }

 private:
  mutable absl::Mutex mutex_;
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_place_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_rate_first_ ABSL_GUARDED_BY(mutex_) = false;               // of what bounds this wait
  Milliseconds place_left_ ABSL_GUARDED_BY(mutex_) = kPlaceWaitMax;  // to wait in a place
  Milliseconds begin_ ABSL_GUARDED_BY(mutex_){0};                    // of it
  Milliseconds max_ ABSL_GUARDED_BY(mutex_){0};                      // and how long it may take
  Milliseconds waited_ ABSL_GUARDED_BY(mutex_){0};                   // before it, all in all
  std::int64_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;          // in that time
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_CHUNK_WAIT_H_
