// The threads of one device, each with a Worker of its own, and the tasks that wait for them.
//
// Step of a request: 2, decide, and the thread on which step 3 runs. Callers take turns
// (task_queue.h), and of each the tasks are taken in the order in which they came, except that
// those whose clients are still sending hold some of the threads only. One whose next bytes are not
// here leaves its thread, and comes back when they are: slow senders cost no thread, however many
// they are. One that comes back goes before those that have not begun, but never two of them in a
// row while another waits: neither kind starves.
//
// Safe from any thread. Whoever pushes a task lends it until OnDone, which a thread of the pool
// calls, once.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_POOL_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_POOL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/spin_then_park.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/task_queue.h"
#include "server/core/scheduling/worker_run.h"
#include "server/core/scheduling/worker_shares.h"
#include "server/device/executor.h"

namespace warpfold {

class WorkerPool {
 public:
  // A turn of a task on an idle worker, which is idle afterwards; its client is waited for as
  // `patience` allows. None: it needs run.awaited_bytes() to go on.
  using Turn =
      std::function<std::optional<TaskReport>(Worker& worker, WorkerRun& run, Patience patience)>;

  // Starts a thread for each of `workers`. One that has worked spins for its next task, for at most
  // `spin_max` and never longer than it has worked, before it parks: so spinning at most doubles
  // what a task takes of a processor.
  WorkerPool(std::vector<std::unique_ptr<Worker>> workers, std::chrono::microseconds spin_max,
             Turn turn);

  // Drains, and joins the threads.
  ~WorkerPool();

  void Push(const QueuedTask& queued) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes `task` back if it has not begun; then OnDone will not come. One that waits for its client
  // goes on when its payload fails.
  bool Remove(const Task* task) ABSL_LOCKS_EXCLUDED(mutex_);

  // Moves all that wait, for a thread or for their clients, to the end of `taken`; OnDone will not
  // come.
  void TakeAll(std::vector<QueuedTask>& taken) ABSL_LOCKS_EXCLUDED(mutex_);

  // The threads end once nothing waits any more, for a thread or for a client. REQUIRES: no Push
  // after it.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

  struct State {
    std::int64_t waiting = 0;  // for a thread
    std::int64_t running = 0;
    std::int64_t threads = 0;
  };
  State state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  // What a thread has taken.
  struct Taken {
    Task* task = nullptr;
    std::unique_ptr<WorkerRun> run;
    Patience patience = Patience::kOthersWait;
    Task::Line line = nullptr;  // for when the task is gone
    double charged = 0;         // for the turn
  };

  void Serve(Worker& worker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the next task and takes it; none once the pool has drained.
  std::optional<Taken> Take(Clock::time_point spin_until) ABSL_LOCKS_EXCLUDED(mutex_);
  // The next task that may run now.
  std::optional<Taken> TakeRunnable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsBefore(const QueuedTask& a, const QueuedTask& b) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool has_clients() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !clients_.empty() || !resumed_.empty();
  }
  // Nothing waits, and nothing that runs can come to wait.
  bool has_drained() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task leaves its thread until its client has sent what it needs.
  void Park(Taken taken, Clock::duration took) ABSL_LOCKS_EXCLUDED(mutex_);
  // What a parked task needs is here.
  void Wake(Task* task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its turn took so long.
  void GiveBack(const Taken& taken, Clock::duration took, bool waits_for_client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::microseconds spin_max_;
  const Turn turn_;
  // Threads that may hold tasks whose clients are sending. With four threads and more one in eight,
  // at least one, is kept for requests whose bytes are all here.
  const int client_threads_max_;

  mutable absl::Mutex mutex_;
  SpinThenPark idle_;                                      // under mutex_
  WorkerShares shares_ ABSL_GUARDED_BY(mutex_);            // in seconds
  TaskQueue here_ ABSL_GUARDED_BY(mutex_){shares_};        // all bytes are here
  TaskQueue clients_ ABSL_GUARDED_BY(mutex_){shares_};     // their clients are sending
  TaskQueue resumed_ ABSL_GUARDED_BY(mutex_){shares_};     // that have begun and come back
  bool last_was_resumed_ ABSL_GUARDED_BY(mutex_) = false;  // of the tasks that threads took
  // That have begun and no thread has: they wait for their clients, or are in resumed_.
  std::unordered_map<Task*, std::unique_ptr<WorkerRun>> begun_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  int client_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;

  const std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::jthread> threads_;  // last: joined before anything above goes
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_POOL_H_
