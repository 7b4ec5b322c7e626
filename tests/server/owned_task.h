// A task that is its own owner: what tests bring to a scheduler.
#ifndef WARPFOLD_TESTS_SERVER_OWNED_TASK_H_
#define WARPFOLD_TESTS_SERVER_OWNED_TASK_H_

#include "server/core/request/task.h"

namespace warpfold {

class OwnedTask : public TaskOwner, public Task {
 public:
  // As nobody wants it any more.
  void Cancel(const absl::Status& why = absl::CancelledError("cancelled")) { token.Cancel(why); }

 protected:
  OwnedTask() : Task(static_cast<TaskOwner&>(*this)) {}
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_OWNED_TASK_H_
