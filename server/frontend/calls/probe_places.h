// Calls that come in whatever is full, such as an orchestrator's probe: so many at a time. One more
// ends the oldest, which is one that does not send its request or does not read its answer.
//
// Step of a request: 1. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_PROBE_PLACES_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_PROBE_PLACES_H_

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/keyed_fifo.h"

namespace warpfold {

// Takes a place from its beginning to its end.
class ProbeCall {
 public:
  virtual ~ProbeCall() = default;
  // Its place goes to another. Never waits.
  virtual void EndForAnother() = 0;
};

class ProbePlaces {
 public:
  explicit ProbePlaces(std::size_t max) : max_(max) {}

  void Take(const std::shared_ptr<ProbeCall>& call) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<ProbeCall> oldest;
    {
      absl::MutexLock lock(&mutex_);
      if (calls_.size() >= max_) oldest = calls_.Pop().call.lock();
      calls_.Push({call.get(), call});
    }
    if (oldest != nullptr) oldest->EndForAnother();
  }
  // Without effect when it has none.
  void GiveBack(const ProbeCall& call) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    calls_.Remove(&call);
  }

 private:
  // Not its owner: a call that ends may give its place back late.
  struct Placed {
    const ProbeCall* key;
    std::weak_ptr<ProbeCall> call;
  };
  friend const ProbeCall* KeyOf(const Placed& placed) { return placed.key; }

  const std::size_t max_;
  absl::Mutex mutex_;
  KeyedFifo<Placed> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_PROBE_PLACES_H_
