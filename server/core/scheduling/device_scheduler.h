// The queue in front of one device: bounded, with one thread per worker that takes tasks from it
// (worker_pool.h), and batches for small tensors where the device has them (batcher.h).
//
// A task too small to be worth waking a thread for passes the queue by: whoever submits it runs it
// (caller-runs). A batch is launched by whoever brings the task that finds a batch worker free, and
// looked at for `caller_wait_max`; then a thread of the scheduler's own sees it to its end
// (batch_completer.h). So Submit never waits for a device longer than that, whatever the device
// does.
//
// Step of a request: 2, decide, and the thread on which step 3 runs.
//
// Safe from any thread. Failure of one task is that task's own: its worker is abandoned and takes
// the next. But a worker that answers DeviceLostError has lost the device: then what waits is
// answered UNAVAILABLE too, and nothing more is taken. What runs on the host alone says nothing of
// it.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_DEVICE_SCHEDULER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_DEVICE_SCHEDULER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/sojourn.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/batch_completer.h"
#include "server/core/scheduling/batch_run.h"
#include "server/core/scheduling/batcher.h"
#include "server/core/scheduling/submitter.h"
#include "server/core/scheduling/worker_pool.h"
#include "server/device/executor.h"

namespace warpfold {

// Batches under way at a time: some are filled and some answered while others are on the device.
// Of the null server's answers/s two gave 0.88 and four 0.94 (4 KiB unary, 64 clients), 0.75 and
// 0.79 (ReduceMany, 8 clients; H200 host, 16 processors, 2026-11-22).
inline constexpr int kBatchWorkers = 4;

struct SchedulerOptions {
  int workers = 8;
  int batch_workers = kBatchWorkers;  // where the device batches
  int queue_depth_max = 1024;
  std::chrono::milliseconds retry_delay{100};  // at least, where the queue is full
  // How long a thread that has worked spins for its next task before it parks: never longer than it
  // has worked. For workers that wait for a device; those that compute need the processors
  // themselves.
  std::chrono::microseconds spin_max{0};
  // How long Submit looks for the end of a batch that it has launched, of a task that has no more
  // behind it. Of the answers/s of a Submit that waits to the end, on an H200 host of 16 processors
  // (4 KiB, medians of 7 rounds, 2026-11-25): none gave 0.87 for 64 unary clients, 50 us 1.02, 200
  // us 1.03; for one stream of ReduceMany none gave 1.11, 50 us 0.95, 200 us 0.91. Of those of 50
  // us, on an H100 host (2026-11-27, bench/results/caller-wait-h100.json): for one unary client
  // none gave 0.96, 25 us 0.84, 100 us 1.04, 200 us 1.04; for 64 of them 0.88, 0.96, 1.01 and 0.99.
  std::chrono::microseconds caller_wait_max{50};
  // Called once for a device that is lost, with the reason, before any client hears of it; by a
  // thread of the scheduler's or a submitter's, with no lock held.
  std::function<void(const DeviceInfo&, const absl::Status&)> on_lost;
  // Called for each batch with the requests in it, by whoever launches it, with no lock held.
  std::function<void(int requests)> on_batch;
};

struct SchedulerState {
  std::int64_t queued = 0;
  std::int64_t workers_in_use = 0;
  std::int64_t workers = 0;
  std::int64_t devices_lost = 0;
  std::uint64_t refused_queue = 0;
  std::int64_t load() const { return queued + workers_in_use; }
};

class DeviceScheduler final : public Submitter {
 public:
  // Makes the workers and starts their threads. `executor` must outlive the scheduler.
  static absl::StatusOr<std::unique_ptr<DeviceScheduler>> Create(Executor& executor,
                                                                 const SchedulerOptions& options);

  // Of a device that is lost before it has served: no workers.
  static std::unique_ptr<DeviceScheduler> CreateLost(Executor& executor,
                                                     const SchedulerOptions& options);

  // Drains, and ends when all that was accepted is done. REQUIRES: no Submit runs or comes.
  ~DeviceScheduler() override;

  absl::Status CheckRoom(const Task& task) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Submit(Task* task) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Withdraw(Task* task) override ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on. What waits stays, even above the new limit.
  void SetQueueDepthMax(int queue_depth_max) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes nothing more; what was accepted is finished.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

  // The device is gone, says `why`: tells the owner and answers what waits. Once; later calls do
  // nothing.
  void Lose(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  SchedulerState state() const ABSL_LOCKS_EXCLUDED(mutex_);
  const DeviceInfo& device() const { return executor_.info(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Workers by their kind, which Create makes.
  struct Workers {
    std::vector<std::unique_ptr<Worker>> queued;
    std::vector<std::unique_ptr<Worker>> inlined;
    std::vector<std::unique_ptr<BatchWorker>> batches;
  };

  DeviceScheduler(Executor& executor, const SchedulerOptions& options, Workers workers);
  bool Batches(const Task& task) const;
  absl::Status CheckServes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one more may wait where so many do. Tasks for workers do not fill the batches' queue.
  absl::Status CheckQueue(std::int64_t waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A worker for `task` on the caller's thread; null when it has to queue.
  Worker* TakeInlineWorker(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether who brings `task`, which batches, is to launch the batch.
  bool LaunchesBatch(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next batch, if there is one; calls another thread for what it leaves.
  std::unique_ptr<BatchRun> FormBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<BatchRun> NextBatch() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs a batch on the caller's thread, for a moment, then hands it on.
  void RunByCaller(std::unique_ptr<BatchRun> batch, Clock::duration wait_max)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives the worker back and calls OnDone.
  void Complete(std::unique_ptr<BatchRun> batch) ABSL_LOCKS_EXCLUDED(mutex_);
  // A turn on a worker; none when it has to wait for its client.
  std::optional<TaskReport> Turn(Worker& worker, WorkerRun& run, Patience patience)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RunInline(Worker& worker, const QueuedTask& arrived) ABSL_LOCKS_EXCLUDED(mutex_);

  Executor& executor_;
  const SchedulerOptions options_;
  const std::vector<std::unique_ptr<Worker>> inline_workers_;

  mutable absl::Mutex mutex_;
  int queue_depth_max_ ABSL_GUARDED_BY(mutex_);
  Batcher batcher_ ABSL_GUARDED_BY(mutex_);
  const bool has_batches_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  Sojourn sojourn_;
  std::vector<Worker*> free_inline_workers_ ABSL_GUARDED_BY(mutex_);

  // Last: their threads use the above.
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<BatchCompleter> completer_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_DEVICE_SCHEDULER_H_
