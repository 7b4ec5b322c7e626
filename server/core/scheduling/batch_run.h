// Several small tasks on one batch worker, which is empty before and after, each with its own
// end.
//
// Step of a request: 3. Run looks for the end of the batch for as long as its caller can wait, and
// may be called again, from another thread; RunToEnd waits for the device. One thread at a time.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_RUN_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_RUN_H_

#include <chrono>
#include <cstddef>
#include <vector>

#include "server/core/request/task.h"
#include "server/core/scheduling/task_queue.h"
#include "server/device/executor.h"

namespace warpfold {

class BatchRun {
 public:
  using Clock = std::chrono::steady_clock;

  // REQUIRES: `worker` is empty; of each task: its action is ReducePayload, its device batches its
  // plan, and all of its bytes are here. Does not call OnDone.
  BatchRun(BatchWorker& worker, std::vector<QueuedTask> tasks);

  // Puts the tasks on the worker, in one batch, or in more where the worker holds fewer; what is no
  // longer wanted, or whose payload fails, ends alone. True: the device is done with all. False:
  // `until` has come first.
  bool Run(Clock::time_point until);

  // The same, however long it takes.
  void RunToEnd();

  BatchWorker& worker() const { return worker_; }
  const std::vector<QueuedTask>& tasks() const { return tasks_; }
  // One for each task, in order. REQUIRES: the device is done with all.
  std::vector<TaskReport> TakeReports() { return std::move(reports_); }

 private:
  // True: there is a batch on the device. False: all have ended.
  bool Launch();
  // Fills the worker with tasks from next_ on.
  void StageAll();
  // Task `index` onto the worker, or why not.
  absl::Status Stage(std::size_t index, absl::Span<std::byte> buffer);
  bool SpinUntil(Clock::time_point until);
  void Collect();

  BatchWorker& worker_;
  const std::vector<QueuedTask> tasks_;
  std::vector<TaskReport> reports_;
  Clock::time_point start_;
  std::size_t next_ = 0;             // the first task that has not been on the worker
  std::vector<std::size_t> staged_;  // those on the worker, in its order
  bool is_launched_ = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_BATCH_RUN_H_
