// Tasks that wait for workers: a line for each caller, of which the next is who has had the least
// (worker_shares.h), and in each line the oldest first. Any of them can be taken back.
//
// Step of a request: 2, decide. A plain value for its owner's lock.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_TASK_QUEUE_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_TASK_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "server/core/base/keyed_fifo.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/worker_shares.h"

namespace warpfold {

// A task, and when its queue stage began.
struct QueuedTask {
  Task* task = nullptr;
  std::chrono::steady_clock::time_point since;
};

inline const Task* KeyOf(const QueuedTask& queued) { return queued.task; }

class TaskQueue {
 public:
  // `shares` outlives it, and may be several queues'.
  explicit TaskQueue(WorkerShares& shares) : shares_(shares) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Tasks of several callers have waited here.
  bool is_shared() const { return lines_.size() > 1; }
  std::size_t lines() const { return lines_.size(); }
  bool Has(const Task* task) const;
  // REQUIRES: !empty().
  const QueuedTask& front() const { return lines_[Next()].tasks.front(); }

  // REQUIRES: it is not in here.
  void Push(const QueuedTask& queued);
  // REQUIRES: !empty(). Whoever takes it charges its line for it, if the queue is shared.
  QueuedTask Pop();
  // False: it is not in here. `task` may be gone then.
  bool Remove(const Task* task);
  // Moves all to the end of `taken`.
  void TakeAll(std::vector<QueuedTask>& taken);

 private:
  struct Line {
    Task::Line of;
    KeyedFifo<QueuedTask> tasks;
  };
  std::size_t Next() const;
  // Without the lines in which nothing waits.
  void Forget();

  // Callers come and go where addresses tell them apart.
  static constexpr std::size_t kLinesKept = 64;

  WorkerShares& shares_;
  std::deque<Line> lines_;  // most are empty
  std::size_t forgets_at_ = kLinesKept;
  std::size_t size_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_TASK_QUEUE_H_
