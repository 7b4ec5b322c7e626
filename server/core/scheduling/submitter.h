// Where tasks are submitted: to the scheduler of one device, or to the one over several.
//
// Step of a request: 2, decide. Safe from any thread. The contract is TensorFlow's batch
// scheduler's: Submit answers at once; on OK the scheduler borrows the task until it calls OnDone,
// exactly once; on any error it never touches it.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_SUBMITTER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_SUBMITTER_H_

#include "absl/status/status.h"
#include "server/core/request/task.h"

namespace warpfold {

class Submitter {
 public:
  virtual ~Submitter() = default;

  // What Submit would say now of a task whose bytes are still to come, because of its device or of
  // the queue. It is not submitted.
  virtual absl::Status CheckRoom(const Task& task) = 0;

  // Queues `task`, or, when it may run inline and its device says that it is small enough, runs it
  // and may call OnDone before returning, of a batch for others too. RESOURCE_EXHAUSTED with
  // RetryLater: the queue is full. UNAVAILABLE: draining, or the device is lost. What its token
  // says, if nobody wants it any more and it would have to queue.
  virtual absl::Status Submit(Task* task) = 0;

  // Takes `task` back if it has not begun: then it is the caller's again and OnDone will not come.
  // False when a worker has it or had it; such a task ends by itself once its token is cancelled,
  // or its payload has failed.
  virtual bool Withdraw(Task* task) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_SUBMITTER_H_
