// The thread that gives back the memory of resident tensors whose time to live has passed.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_TENSOR_SWEEPER_H_
#define WARPFOLD_SERVER_CORE_TENSORS_TENSOR_SWEEPER_H_

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/core/tensors/tensor_table.h"

namespace warpfold {

// Sweeps once a second until its end. `table` must outlive it.
class TensorSweeper {
 public:
  explicit TensorSweeper(TensorTable& table)
      : thread_([this, &table] {
          while (!stopped_.WaitForNotificationWithTimeout(absl::Seconds(1))) table.Sweep();
        }) {}
  ~TensorSweeper() { stopped_.Notify(); }

 private:
  absl::Notification stopped_;
  std::jthread thread_;  // last: joined before anything above goes
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_TENSOR_SWEEPER_H_
