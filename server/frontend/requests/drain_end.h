// When a drain ends what still runs: then gRPC cancels every call as if its client had.
//
// Step of a request: the way back. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_DRAIN_END_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_DRAIN_END_H_

#include <atomic>
#include <chrono>

#include "absl/status/status.h"

namespace warpfold {

class DrainEnd {
 public:
  using Clock = std::chrono::system_clock;

  void Set(Clock::time_point end) { end_.store(end, std::memory_order_release); }

  // Why gRPC says that a request is cancelled. CANCELLED.
  absl::Status WhyCancelled() const {
    return has_passed() ? absl::CancelledError("the drain ended the request (--drain-timeout-ms)")
                        : absl::CancelledError("the client cancelled the request");
  }

 private:
  // gRPC's clock may be a little ahead.
  bool has_passed() const {
    return Clock::now() + std::chrono::milliseconds(10) >= end_.load(std::memory_order_acquire);
  }

  static_assert(std::atomic<Clock::time_point>::is_always_lock_free);
  std::atomic<Clock::time_point> end_{Clock::time_point::max()};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_DRAIN_END_H_
