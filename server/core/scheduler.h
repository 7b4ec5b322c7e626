// All devices of the server: every work goes to the least loaded one that is not lost, or to the
// one that it names.
//
// Step of a request: 2, decide. Safe from any thread. See device_scheduler.h for the contract of
// Submit, Withdraw and Drain.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/device_scheduler.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

class Scheduler {
 public:
  // One DeviceScheduler per executor, at least one; the executors must outlive the scheduler.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      const std::vector<std::unique_ptr<Executor>>& executors, const SchedulerOptions& options);

  // Asks every device a known question (known_answer.h), one after the other; waits.
  absl::Status CheckKnownAnswers();

  absl::Status Submit(Work* work);
  bool Withdraw(Work* work);
  void SetQueueDepthMax(int queue_depth_max);
  void Drain();

  // Sums over all devices.
  SchedulerState state() const;
  int device_count() const { return static_cast<int>(devices_.size()); }

 private:
  explicit Scheduler(std::vector<std::unique_ptr<DeviceScheduler>> devices)
      : devices_(std::move(devices)) {}

  std::vector<std::unique_ptr<DeviceScheduler>> devices_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULER_H_
