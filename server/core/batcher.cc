#include "server/core/batcher.h"

#include <utility>

namespace warpfold {

Batcher::Batcher(const BatchLimits& limits, std::vector<std::unique_ptr<BatchLane>> lanes)
    : limits_(limits), lanes_(std::move(lanes)) {
  for (const std::unique_ptr<BatchLane>& lane : lanes_) free_.push_back(lane.get());
}

std::unique_ptr<BatchRun> Batcher::Form() {
  if (fifo_.empty() || free_.empty()) return nullptr;
  std::vector<QueuedWork> works;
  std::size_t bytes = 0;
  while (!fifo_.empty() && works.size() < static_cast<std::size_t>(limits_.tensors)) {
    bytes += static_cast<std::size_t>(fifo_.front().work->plan().input_bytes);
    if (!works.empty() && bytes > limits_.bytes) break;
    works.push_back(fifo_.Pop());
  }
  BatchLane& lane = *free_.back();
  free_.pop_back();
  return std::make_unique<BatchRun>(lane, std::move(works));
}

}  // namespace warpfold
