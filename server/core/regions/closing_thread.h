// A thread for what may wait for the system or a device and belongs to nobody who could: the ends
// of memory that clients have registered.
//
// Safe from any thread. What it runs must not throw, and may call Run.
#ifndef WARPFOLD_SERVER_CORE_REGIONS_CLOSING_THREAD_H_
#define WARPFOLD_SERVER_CORE_REGIONS_CLOSING_THREAD_H_

#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace warpfold {

class ClosingThread {
 public:
  ClosingThread() : thread_([this] { Loop(); }) {}
  ClosingThread(const ClosingThread&) = delete;
  ClosingThread& operator=(const ClosingThread&) = delete;
  // Returns when all that was given has run.
  ~ClosingThread();

  // Runs `step` after all that was given before; never waits.
  void Run(std::function<void()> step) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ends_ || !steps_.empty(); }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> steps_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REGIONS_CLOSING_THREAD_H_
