// The threads that see batches to their ends, where whoever brought them cannot wait so long, and
// that launch what has collected meanwhile.
//
// Step of a request: 2, decide, and the threads on which step 3 ends. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_COMPLETER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_COMPLETER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/spin_then_park.h"
#include "server/core/scheduling/batch_run.h"

namespace warpfold {

class BatchCompleter {
 public:
  // Both are called on one of the threads, with no lock held. Gives the next batch that waits for a
  // thread, or null.
  using Form = std::function<std::unique_ptr<BatchRun>()>;
  // Takes each batch once the device is done with it.
  using OnEnd = std::function<void(std::unique_ptr<BatchRun>)>;

  // As many threads as there are batch workers: then no batch waits for another's end. A thread
  // that has worked spins for the next batch as WorkerPool's do.
  BatchCompleter(int threads, std::chrono::microseconds spin_max, Form form, OnEnd on_end);

  // Ends what it was handed and what it was called for, and joins the threads.
  ~BatchCompleter();

  // Sees a batch that was launched to its end.
  void Hand(std::unique_ptr<BatchRun> batch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Form has a batch to give: a thread that is free asks for it.
  void Call() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  void Serve() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a batch; null once the completer ends.
  std::unique_ptr<BatchRun> Take(Clock::time_point spin_until) ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<BatchRun> TakeHanded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::microseconds spin_max_;
  const Form form_;
  const OnEnd on_end_;

  absl::Mutex mutex_;
  SpinThenPark idle_;  // under mutex_
  std::deque<std::unique_ptr<BatchRun>> handed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::jthread> threads_;  // last: joined before anything above goes
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_COMPLETER_H_
