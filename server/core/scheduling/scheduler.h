// All devices of the server: every task goes to the least loaded one that is not lost, or to the
// one that it names, or, when its tensor lies on several, to all of these (split_run.h).
//
// Step of a request: 2, decide. Safe from any thread. See device_scheduler.h for Drain.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_SCHEDULER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_SCHEDULER_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/device_scheduler.h"
#include "server/core/scheduling/submitter.h"
#include "server/core/splitting/split_run.h"
#include "server/device/executor.h"

namespace warpfold {

class Scheduler final : public Submitter, private SplitHost {
 public:
  // One DeviceScheduler per executor, at least one; the executors must outlive the scheduler. A
  // device without memory for its workers is lost from the start (`options.on_lost` is called)
  // unless it is the last one, whose status is returned.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      const std::vector<std::unique_ptr<Executor>>& executors, const SchedulerOptions& options);

  // Drains, and ends when all that was accepted is done.
  ~Scheduler() override ABSL_LOCKS_EXCLUDED(mutex_);

  // Where tasks for `device`, one of the executors', alone are submitted.
  Submitter& SubmitterOf(const DeviceInfo& device) { return Of(device); }

  // From now on `device` is lost, as if it had answered DeviceLostError.
  void Lose(const DeviceInfo& device, const absl::Status& why);
  bool IsLost(const DeviceInfo& device) const;

  // Where there is one device, its own.
  Submitter& submitter();

  absl::Status CheckRoom(const Task& task) override;
  absl::Status Submit(Task* task) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Withdraw(Task* task) override ABSL_LOCKS_EXCLUDED(mutex_);
  void SetQueueDepthMax(int queue_depth_max);
  void Drain();

  // Sums over all devices.
  SchedulerState state() const;
  int device_count() const { return static_cast<int>(devices_.size()); }

 private:
  explicit Scheduler(std::vector<std::unique_ptr<DeviceScheduler>> devices)
      : devices_(std::move(devices)) {}

  DeviceScheduler& Of(const DeviceInfo& device) const;
  DeviceScheduler& LeastLoaded() const;
  // Where it goes; of one that is split, where its first shard does.
  DeviceScheduler& SchedulerOf(const Task& task) const;
  absl::Status SubmitSplit(Task* task, std::unique_ptr<SplitRun> split) ABSL_LOCKS_EXCLUDED(mutex_);
  // The split of `task`, no longer known; null when there is none.
  std::unique_ptr<SplitRun> Forget(const Task& task) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status SubmitTo(const DeviceInfo& device, Task* task) override;
  bool WithdrawFrom(const DeviceInfo& device, Task* task) override;
  void End(Task& task, TaskReport report) override ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::map<const Task*, std::unique_ptr<SplitRun>> splits_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<DeviceScheduler>> devices_;  // last: their threads use the above
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_SCHEDULER_H_
