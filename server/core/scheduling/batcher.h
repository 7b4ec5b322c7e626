// The batch workers of a device, and the small tasks that wait for one: natural batching, without a
// timer. While a worker is free a task has it at once; what arrives while all are taken collects,
// and the next worker that comes back takes as much of it as a batch holds.
//
// Step of a request: 2, decide. Without a lock and without a thread of its own; for its owner's
// lock. Its owner sees to it that nothing waits while a worker is free (has_next). A batch is
// formed as late as can be, when the thread that will launch it is there: so it takes all that has
// come.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_BATCHER_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_BATCHER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "server/core/scheduling/batch_run.h"
#include "server/core/scheduling/task_queue.h"
#include "server/core/scheduling/worker_shares.h"
#include "server/device/executor.h"

namespace warpfold {

class Batcher {
 public:
  // Batches of up to `limits`; there may be no workers.
  Batcher(const BatchLimits& limits, std::vector<std::unique_ptr<BatchWorker>> workers);

  bool has_workers() const { return !workers_.empty(); }
  bool has_free_worker() const { return !free_.empty(); }
  // No batch is under way.
  bool is_idle() const { return free_.size() == workers_.size(); }
  std::size_t waiting() const { return queue_.size(); }
  // Form has something to give.
  bool has_next() const { return !queue_.empty() && !free_.empty(); }

  // REQUIRES: as BatchRun, of its task.
  void Push(const QueuedTask& queued) { queue_.Push(queued); }
  // Takes `task` back if it still waits.
  bool Remove(const Task* task) { return queue_.Remove(task); }
  // Moves all that wait to the end of `taken`.
  void TakeAll(std::vector<QueuedTask>& taken) { queue_.TakeAll(taken); }

  // The next batch, on a free worker, which is the run's until GiveBack; null where nothing waits
  // or no worker is free.
  std::unique_ptr<BatchRun> Form();
  void GiveBack(BatchWorker& worker) { free_.push_back(&worker); }

 private:
  const BatchLimits limits_;
  const std::vector<std::unique_ptr<BatchWorker>> workers_;
  std::vector<BatchWorker*> free_;
  WorkerShares shares_;
  TaskQueue queue_{shares_};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_BATCHER_H_
