// Works that wait for lanes: a line for each caller, of which the next is who has had the least
// (lane_shares.h), and in each line the oldest first. Any of them can be taken back.
//
// Step of a request: 2, decide. A plain value for its owner's lock.
#ifndef WARPFOLD_SERVER_CORE_WORK_QUEUE_H_
#define WARPFOLD_SERVER_CORE_WORK_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "server/core/keyed_fifo.h"
#include "server/core/lane_shares.h"
#include "server/core/work.h"

namespace warpfold {

// A work, and when its queue stage began.
struct QueuedWork {
  Work* work = nullptr;
  std::chrono::steady_clock::time_point since;
};

inline const Work* KeyOf(const QueuedWork& queued) { return queued.work; }

class WorkQueue {
 public:
  // `shares` outlives it, and may be several queues'.
  explicit WorkQueue(LaneShares& shares) : shares_(shares) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Works of several callers have waited here.
  bool is_shared() const { return lines_.size() > 1; }
  bool Has(const Work* work) const;
  // REQUIRES: !empty().
  const QueuedWork& front() const { return lines_[Next()].works.front(); }

  // REQUIRES: it is not in here.
  void Push(const QueuedWork& queued);
  // REQUIRES: !empty(). Whoever takes it charges its line for it, if the queue is shared.
  QueuedWork Pop();
  // False: it is not in here. `work` may be gone then.
  bool Remove(const Work* work);
  // Moves all to the end of `taken`.
  void TakeAll(std::vector<QueuedWork>& taken);

 private:
  struct Line {
    Work::Line of;
    KeyedFifo<QueuedWork> works;
  };
  std::size_t Next() const;

  LaneShares& shares_;
  std::deque<Line> lines_;  // as many as callers have waited here; most are empty
  std::size_t size_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_WORK_QUEUE_H_
