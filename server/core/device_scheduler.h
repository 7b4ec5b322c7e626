// The queue in front of one device: a bounded FIFO, and one thread per lane that takes work from
// it. Work too small to be worth waking a thread for passes by: whoever submits it runs it, on a
// lane of its own kind.
//
// Small tensors go by batches where the device has them. A few batches may be under way; what
// arrives meanwhile collects, and the next batch takes all of it, up to the device's limits.
// Whoever submits a work while a batch lane is free runs that batch and calls Done of all in it (on
// an idle device a lane does that for who has more to bring). Nobody waits for company; load makes
// batches.
//
// Step of a request: 2, decide, and the thread on which step 3 runs. The contract is TensorFlow's
// batch scheduler's: Submit answers at once; on OK the scheduler borrows the work until it calls
// Done, exactly once; on any error it never touches it.
//
// Safe from any thread. Failure of one work is that work's own: its lane is abandoned and takes the
// next. But a lane that answers DeviceLostError has lost the device: then what waits is answered
// UNAVAILABLE too, and nothing more is taken. What runs on the host alone says nothing of it.
#ifndef WARPFOLD_SERVER_CORE_DEVICE_SCHEDULER_H_
#define WARPFOLD_SERVER_CORE_DEVICE_SCHEDULER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/core/batch_run.h"
#include "server/core/lookout.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// Batches under way at a time: some are filled and some answered while others are on the device.
// Of the null server's answers/s two gave 0.88 and four 0.94 (4 KiB unary, 64 clients), 0.75 and
// 0.79 (ReduceMany, 8 clients; H200 host, 16 processors, 2026-11-22).
inline constexpr int kBatchLanes = 4;

struct SchedulerOptions {
  int lanes = 8;
  int batch_lanes = kBatchLanes;  // where the device batches
  int queue_depth_max = 1024;
  std::chrono::milliseconds retry_delay{100};
  // How long a lane that has worked looks for its next work before it sleeps: never longer than it
  // has worked, so that looking at most doubles what work takes of a processor. For lanes that wait
  // for a device; those that compute need the processors themselves.
  std::chrono::microseconds look_max{0};
  // Called once for a device that is lost, with the reason, before any client hears of it; by a
  // lane's thread or a submitter's, with no lock held.
  std::function<void(const DeviceInfo&, const absl::Status&)> on_lost;
  // Called for each batch with the requests in it, by whoever runs it, with no lock held.
  std::function<void(int requests)> on_batch;
};

struct SchedulerState {
  std::int64_t queued = 0;
  std::int64_t lanes_in_use = 0;
  std::int64_t lanes = 0;
  std::int64_t devices_lost = 0;
  std::uint64_t refused_queue = 0;
  std::int64_t load() const { return queued + lanes_in_use; }
};

class DeviceScheduler {
 public:
  // Makes the lanes and starts their threads. `executor` must outlive the scheduler.
  static absl::StatusOr<std::unique_ptr<DeviceScheduler>> Create(Executor& executor,
                                                                 const SchedulerOptions& options);

  // Of a device that is lost before it has served: no lanes.
  static std::unique_ptr<DeviceScheduler> CreateLost(Executor& executor,
                                                     const SchedulerOptions& options);

  // Drains, then joins the lanes' threads.
  ~DeviceScheduler();

  // Queues `work`, or, when it may run inline and the device says that it is small enough, runs it
  // and calls Done before returning, of a batch for others too. RESOURCE_EXHAUSTED with RetryLater:
  // the queue is full. UNAVAILABLE: draining, or the device is lost. What Wanted() says, if nobody
  // wants it any more and it would have to queue.
  absl::Status Submit(Work* work) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes `work` back if it still waits: then it is the caller's again and Done will not come.
  // False when a lane has it or had it; a running work ends by itself once Wanted() says so.
  bool Withdraw(Work* work) ABSL_LOCKS_EXCLUDED(mutex_);

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
  struct Queued {
    QueuedWork work;
    bool batches = false;
  };
  // What a thread has to run: one work, or on `batch_lane` several; none when drained.
  struct Taken {
    std::vector<QueuedWork> works;
    BatchLane* batch_lane = nullptr;
    bool holds_lane = false;  // not that of a submitter
    bool waits_for_client = false;
  };

  DeviceScheduler(Executor& executor, const SchedulerOptions& options);
  void RunLane(Lane& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs and completes it. Until when to look for the next.
  Clock::time_point Serve(Lane& lane, const Taken& taken) ABSL_LOCKS_EXCLUDED(mutex_);
  // Both report the device as lost when it was.
  WorkReport Run(Lane& lane, const QueuedWork& taken) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<WorkReport> Run(BatchLane& lane, absl::Span<const QueuedWork> taken)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status MakeLanes(int count, std::vector<std::unique_ptr<Lane>>& lanes);
  absl::Status MakeBatchLanes();
  bool Batches(Work& work) const;
  // A lane for `work` on the caller's thread; null when it has to queue.
  Lane* TakeInlineLane(const Queued& arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether who brings `work`, which batches, is to run the batch.
  bool RunsBatch(const Work& work) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the next work and takes it, or the next batch; sleeps from `look_until` on.
  Taken Take(Clock::time_point look_until) ABSL_LOCKS_EXCLUDED(mutex_);
  // The next work, if there is one that may run now.
  std::optional<Taken> TakeRunnable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One more work is in the queue: a lane that looks or one that sleeps has to see to it.
  void CallLane() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: a batch lane is free, and some of what waits batches.
  Taken TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(const Taken& taken) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives back and calls Done with the reports.
  void Complete(const Taken& taken, std::vector<WorkReport> reports) ABSL_LOCKS_EXCLUDED(mutex_);
  // The oldest work that may run now, or queue_.end().
  std::deque<Queued>::iterator NextRunnable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes `queued` out of the queue.
  std::deque<Queued>::iterator Unqueue(const std::deque<Queued>::iterator& queued)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Executor& executor_;
  const SchedulerOptions options_;
  // Lanes that may wait for clients at a time. With four lanes and more one in eight, at least one,
  // is kept for requests whose bytes are all here, so that slow senders cannot stop them.
  const int client_lanes_max_;

  mutable absl::Mutex mutex_;
  absl::CondVar work_ready_;
  Lookout lookout_;  // all but Look under mutex_
  int queue_depth_max_ ABSL_GUARDED_BY(mutex_);
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  int queued_for_batches_ ABSL_GUARDED_BY(mutex_) = 0;  // of the queue, those that batch
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  int client_lanes_ ABSL_GUARDED_BY(mutex_) = 0;
  int lanes_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Lane*> free_inline_lanes_ ABSL_GUARDED_BY(mutex_);
  std::vector<BatchLane*> free_batch_lanes_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::unique_ptr<Lane>> inline_lanes_;
  std::vector<std::unique_ptr<BatchLane>> batch_lanes_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::jthread> threads_;  // last: joined before anything above goes
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_DEVICE_SCHEDULER_H_
