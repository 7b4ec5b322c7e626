// Works that wait, the oldest first, any of which can be taken back.
//
// Step of a request: 2, decide. A plain value without a lock of its own; no call takes longer where
// more of them wait.
#ifndef WARPFOLD_SERVER_CORE_WORK_FIFO_H_
#define WARPFOLD_SERVER_CORE_WORK_FIFO_H_

#include <chrono>
#include <cstddef>
#include <list>
#include <unordered_map>
#include <vector>

#include "server/core/work.h"

namespace warpfold {

// A work, and when its queue stage began.
struct QueuedWork {
  Work* work = nullptr;
  std::chrono::steady_clock::time_point since;
};

class WorkFifo {
 public:
  bool empty() const { return works_.empty(); }
  std::size_t size() const { return works_.size(); }
  // REQUIRES: !empty().
  const QueuedWork& front() const { return works_.front(); }

  bool Has(const Work* work) const { return places_.count(work) > 0; }

  // REQUIRES: it is not in here.
  void Push(const QueuedWork& queued) {
    places_.emplace(queued.work, works_.insert(works_.end(), queued));
  }

  // REQUIRES: !empty().
  QueuedWork Pop() {
    const QueuedWork queued = works_.front();
    places_.erase(queued.work);
    works_.pop_front();
    return queued;
  }

  // False: it is not in here.
  bool Remove(const Work* work) {
    const auto place = places_.find(work);
    if (place == places_.end()) return false;
    works_.erase(place->second);
    places_.erase(place);
    return true;
  }

  // Moves all to the end of `taken`.
  void TakeAll(std::vector<QueuedWork>& taken) {
    taken.insert(taken.end(), works_.begin(), works_.end());
    works_.clear();
    places_.clear();
  }

 private:
  std::list<QueuedWork> works_;
  std::unordered_map<const Work*, std::list<QueuedWork>::iterator> places_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_WORK_FIFO_H_
