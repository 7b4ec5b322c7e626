#include "server/core/scheduling/batch_completer.h"

#include <algorithm>
#include <utility>

namespace warpfold {

BatchCompleter::BatchCompleter(int threads, std::chrono::microseconds spin_max, Form form,
                               OnEnd on_end)
    : spin_max_(spin_max), form_(std::move(form)), on_end_(std::move(on_end)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

BatchCompleter::~BatchCompleter() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    idle_.WakeAll();
  }
  threads_.clear();
}

void BatchCompleter::Hand(std::unique_ptr<BatchRun> batch) {
  absl::MutexLock lock(&mutex_);
  handed_.push_back(std::move(batch));
  idle_.WakeOne();
}

void BatchCompleter::Call() {
  absl::MutexLock lock(&mutex_);
  ++calls_;
  idle_.WakeOne();
}

std::unique_ptr<BatchRun> BatchCompleter::TakeHanded() {
  if (handed_.empty()) return nullptr;
  std::unique_ptr<BatchRun> batch = std::move(handed_.front());
  handed_.pop_front();
  return batch;
}

std::unique_ptr<BatchRun> BatchCompleter::Take(Clock::time_point spin_until) {
  while (true) {
    std::uint64_t calls_seen = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (std::unique_ptr<BatchRun> batch = TakeHanded(); batch != nullptr) return batch;
      calls_seen = calls_;
    }
    if (std::unique_ptr<BatchRun> batch = form_(); batch != nullptr) return batch;
    absl::MutexLock lock(&mutex_);
    if (!handed_.empty() || calls_ != calls_seen) continue;
    if (ending_) return nullptr;
    idle_.Wait(mutex_, spin_until);
  }
}

void BatchCompleter::Serve() {
  Clock::time_point spin_until;  // long past
  while (std::unique_ptr<BatchRun> batch = Take(spin_until)) {
    const Clock::time_point begin = Clock::now();
    batch->RunToEnd();
    on_end_(std::move(batch));
    const Clock::time_point end = Clock::now();
    spin_until = end + std::min<Clock::duration>(spin_max_, end - begin);
  }
}

}  // namespace warpfold
