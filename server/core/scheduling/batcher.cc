#include "server/core/scheduling/batcher.h"

#include <cstdint>
#include <utility>

namespace warpfold {
namespace {

// What a task takes of a batch beside its bytes, in bytes.
constexpr std::int64_t kTaskBytes = std::int64_t{32} << 10;

}  // namespace

Batcher::Batcher(const BatchLimits& limits, std::vector<std::unique_ptr<BatchWorker>> workers)
    : limits_(limits), workers_(std::move(workers)) {
  for (const std::unique_ptr<BatchWorker>& worker : workers_) free_.push_back(worker.get());
}

std::unique_ptr<BatchRun> Batcher::Form() {
  if (queue_.empty() || free_.empty()) return nullptr;
  std::vector<QueuedTask> tasks;
  std::size_t bytes = 0;
  while (!queue_.empty() && tasks.size() < static_cast<std::size_t>(limits_.tensors)) {
    const QueuedTask& next = queue_.front();
    const std::int64_t next_bytes = next.task->plan->input_bytes;
    bytes += static_cast<std::size_t>(next_bytes);
    if (!tasks.empty() && bytes > limits_.bytes) break;
    if (queue_.is_shared()) {
      shares_.Charge(next.task->line, static_cast<double>(next_bytes + kTaskBytes));
    }
    tasks.push_back(queue_.Pop());
  }
  BatchWorker& worker = *free_.back();
  free_.pop_back();
  return std::make_unique<BatchRun>(worker, std::move(tasks));
}

}  // namespace warpfold
