#include "server/core/work_queue.h"

#include <algorithm>
#include <utility>

namespace warpfold {

std::size_t WorkQueue::Next() const {
  if (lines_.size() == 1) return 0;
  std::size_t next = lines_.size();
  double least = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].works.empty()) continue;
    const double had = shares_.had(lines_[i].of);
    if (next < lines_.size() && had >= least) continue;
    next = i;
    least = had;
  }
  return next;
}

bool WorkQueue::Has(const Work* work) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [work](const Line& line) { return line.works.Has(work); });
}

void WorkQueue::Push(const QueuedWork& queued) {
  const Work::Line of = queued.work->line();
  auto line = std::find_if(lines_.begin(), lines_.end(),
                           [of](const Line& known) { return known.of == of; });
  if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{of, {}});
  if (is_shared() && line->works.empty()) shares_.Join(of);
  line->works.Push(queued);
  ++size_;
}

QueuedWork WorkQueue::Pop() {
  --size_;
  return lines_[Next()].works.Pop();
}

bool WorkQueue::Remove(const Work* work) {
  const bool was_in = std::any_of(lines_.begin(), lines_.end(),
                                  [work](Line& line) { return line.works.Remove(work); });
  if (was_in) --size_;
  return was_in;
}

void WorkQueue::TakeAll(std::vector<QueuedWork>& taken) {
  for (Line& line : lines_) line.works.TakeAll(taken);
  size_ = 0;
}

}  // namespace warpfold
