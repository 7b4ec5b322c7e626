#include "server/core/scheduling/task_queue.h"

#include <algorithm>
#include <utility>

namespace warpfold {

std::size_t TaskQueue::Next() const {
  if (lines_.size() == 1) return 0;
  std::size_t next = lines_.size();
  double least = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].tasks.empty()) continue;
    const double had = shares_.had(lines_[i].of);
    if (next < lines_.size() && had >= least) continue;
    next = i;
    least = had;
  }
  return next;
}

bool TaskQueue::Has(const Task* task) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [task](const Line& line) { return line.tasks.Has(task); });
}

void TaskQueue::Push(const QueuedTask& queued) {
  const Task::Line of = queued.task->line;
  auto line = std::find_if(lines_.begin(), lines_.end(),
                           [of](const Line& known) { return known.of == of; });
  if (line == lines_.end()) {
    if (lines_.size() >= forgets_at_) Forget();
    line = lines_.insert(lines_.end(), Line{of, {}});
  }
  if (is_shared() && line->tasks.empty()) shares_.Join(of);
  line->tasks.Push(queued);
  ++size_;
}

void TaskQueue::Forget() {
  std::erase_if(lines_, [](const Line& line) { return line.tasks.empty(); });
  forgets_at_ = std::max(kLinesKept, 2 * lines_.size());
}

QueuedTask TaskQueue::Pop() {
  --size_;
  return lines_[Next()].tasks.Pop();
}

bool TaskQueue::Remove(const Task* task) {
  const bool was_in = std::any_of(lines_.begin(), lines_.end(),
                                  [task](Line& line) { return line.tasks.Remove(task); });
  if (was_in) --size_;
  return was_in;
}

void TaskQueue::TakeAll(std::vector<QueuedTask>& taken) {
  for (Line& line : lines_) line.tasks.TakeAll(taken);
  size_ = 0;
}

}  // namespace warpfold
