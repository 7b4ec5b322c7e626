#include "server/observe/trace/span_queue.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace warpfold {

SpanQueue::SpanQueue(Export send, OnReached on_reached)
    : send_(std::move(send)), on_reached_(std::move(on_reached)), thread_([this] { Run(); }) {}

SpanQueue::~SpanQueue() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

void SpanQueue::Take(SpanFacts facts) {
  absl::MutexLock lock(&mutex_);
  if (queue_.size() >= kSpansMax) {
    ++dropped_.by_queue;
    return;
  }
  queue_.push_back(std::move(facts));
}

DroppedSpans SpanQueue::dropped() const {
  absl::MutexLock lock(&mutex_);
  return dropped_;
}

void SpanQueue::Run() {
  while (true) {
    std::vector<SpanFacts> batch;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &SpanQueue::HasWork));
      if (queue_.empty() || (ends_ && !reached_)) return;
      batch = TakeBatch();
    }
    Note(send_(batch), batch.size());
  }
}

std::vector<SpanFacts> SpanQueue::TakeBatch() {
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchMax));
  std::vector<SpanFacts> batch(std::make_move_iterator(queue_.begin()),
                               std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void SpanQueue::Note(bool reached, std::size_t spans) {
  {
    absl::MutexLock lock(&mutex_);
    if (!reached) dropped_.by_export += spans;
    if (std::exchange(reached_, reached) == reached) return;
  }
  on_reached_(reached);
}

}  // namespace warpfold
