// grpc.health.v1.Health: what the server says of itself, to who asks and to who watches.
//
// It knows six names. "liveness" is SERVING for as long as the process answers; "readiness", the
// three services' own names and "" (the server as a whole) while it wants requests. Check is
// answered whatever is full: nothing admits it, but of more than kChecksMax calls the oldest ends.
// Calls of Watch have a number of their own, of which one address holds a quarter at most, and one
// that nobody reads holds its place until it is let go, as every unread answer is.
//
// Step of a request: 1, and the way back.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_HEALTH_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_HEALTH_SERVICE_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/frontend/calls/probe_places.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/services.h"

namespace warpfold {

class WatchCall;

// Of 16 KiB each: many times as many as orchestrators have at a time, so that theirs, which read,
// are not among those that end.
inline constexpr std::size_t kChecksMax = 256;

// The server's state, and the calls that watch it, which it outlives. Safe from any thread.
class HealthBoard {
 public:
  explicit HealthBoard(int watches_max)
      : watches_max_(watches_max), peer_watches_max_(std::max(1, watches_max / 4)) {}

  // Whether the server wants requests. Tells who watches.
  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_);
  const std::atomic<bool>& serving() const { return serving_; }

  // The server ends: so do the calls that watch, now and later, each with the last state said.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class WatchCall;

  // From Join to Leave a call is told. RESOURCE_EXHAUSTED with RetryLater: too many watch.
  // UNAVAILABLE: closed.
  absl::Status Join(WatchCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(WatchCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<WatchCall>> Calls() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int watches_max_;
  const int peer_watches_max_;  // of one address
  std::atomic<bool> serving_{false};
  absl::Mutex mutex_;
  std::unordered_set<WatchCall*> calls_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, int> peers_ ABSL_GUARDED_BY(mutex_);  // their calls, by address
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

class HealthServiceImpl final : public RawService {
 public:
  HealthServiceImpl(const Services& services, HealthBoard& board, ProbePlaces& checks);

 private:
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_HEALTH_SERVICE_H_
