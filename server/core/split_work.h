// A work on a tensor that lies on several devices, done by works of one device each: a reduction by
// one for each shard, all at the same time; a write by one after another, since its bytes come in
// order.
//
// Step of a request: 2, decide. None of those works holds a lane while it waits for another: the
// last shard to be reduced joins them all, on the lane that it has. The first failure is the
// answer's; shards that have not begun then are not reduced. The work itself is done, or given
// back, when the last of its works is.
//
// Submit, once and first, and Withdraw are the scheduler's.
#ifndef WARPFOLD_SERVER_CORE_SPLIT_WORK_H_
#define WARPFOLD_SERVER_CORE_SPLIT_WORK_H_

#include <memory>

#include "absl/status/status.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// What a split work asks of the scheduler. Safe from any thread.
class SplitHost {
 public:
  virtual ~SplitHost() = default;
  // As DeviceScheduler's.
  virtual absl::Status SubmitTo(const DeviceInfo& device, Work* work) = 0;
  virtual bool WithdrawFrom(const DeviceInfo& device, Work* work) = 0;
  // All that was submitted is done: destroys the split work and calls work.Done(report). Last call.
  virtual void End(Work& work, WorkReport report) = 0;
};

class SplitWork {
 public:
  virtual ~SplitWork() = default;

  // As DeviceScheduler's. Where a device refuses while no other has begun, or all that began are
  // done, the first failure is returned; otherwise it is in the report with which End ends the
  // work.
  virtual absl::Status Submit() = 0;
  // True when nothing of the work was running: End will not come.
  virtual bool Withdraw() = 0;
};

// The split of `work`, or null when it is for one device. Both arguments must outlive it.
std::unique_ptr<SplitWork> Split(SplitHost& host, Work& work);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLIT_WORK_H_
