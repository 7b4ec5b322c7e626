#include "server/core/regions/closing_thread.h"

#include <utility>

namespace warpfold {

ClosingThread::~ClosingThread() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

void ClosingThread::Run(std::function<void()> step) {
  absl::MutexLock lock(&mutex_);
  steps_.push_back(std::move(step));
}

void ClosingThread::Loop() {
  while (true) {
    std::function<void()> step;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ClosingThread::HasWork));
      if (steps_.empty()) return;
      step = std::move(steps_.front());
      steps_.pop_front();
    }
    step();
  }
}

}  // namespace warpfold
