// A task on a tensor that lies on several devices, done by tasks of one device each: a reduction by
// one for each shard, all at the same time; a write by one after another, since its bytes come in
// order.
//
// Step of a request: 2, decide. None of those tasks holds a worker while it waits for another: the
// last shard to be reduced joins them all, on the worker that it has. The first failure is the
// answer's; shards that have not begun then are not reduced. The task itself is done, or given
// back, when the last of its tasks is.
//
// Submit, once and first, and Withdraw are the scheduler's.
#ifndef WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_RUN_H_
#define WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_RUN_H_

#include <memory>

#include "absl/status/status.h"
#include "server/core/request/task.h"
#include "server/device/executor.h"

namespace warpfold {

// What a split task asks of the scheduler. Safe from any thread.
class SplitHost {
 public:
  virtual ~SplitHost() = default;
  // As DeviceScheduler's.
  virtual absl::Status SubmitTo(const DeviceInfo& device, Task* task) = 0;
  virtual bool WithdrawFrom(const DeviceInfo& device, Task* task) = 0;
  // All that was submitted is done: destroys the split task and calls its owner. Last call.
  virtual void End(Task& task, TaskReport report) = 0;
};

class SplitRun {
 public:
  virtual ~SplitRun() = default;

  // As DeviceScheduler's. Where a device refuses while no other has begun, or all that began are
  // done, the first failure is returned; otherwise it is in the report with which End ends the
  // task.
  virtual absl::Status Submit() = 0;
  // True when nothing of the task was running: End will not come.
  virtual bool Withdraw() = 0;
};

// How `task` is done by several devices; null when it is for one. Both arguments must outlive it.
std::unique_ptr<SplitRun> Split(SplitHost& host, Task& task);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_RUN_H_
