// A value that requests read and an operator replaces while they do. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_BASE_IN_FORCE_H_
#define WARPFOLD_SERVER_CORE_BASE_IN_FORCE_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace warpfold {

// Reading costs one load: every request does it. A reader may hold on to what it read, so that old
// values stay until the end; there are as many as reloads.
template <typename T>
class InForce {
 public:
  explicit InForce(T value) { Set(std::move(value)); }

  // Valid as long as this object.
  const T& Get() const { return *current_.load(std::memory_order_acquire); }

  void Set(T value) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    all_.push_back(std::make_unique<const T>(std::move(value)));
    current_.store(all_.back().get(), std::memory_order_release);
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<const T>> all_ ABSL_GUARDED_BY(mutex_);
  std::atomic<const T*> current_{nullptr};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_IN_FORCE_H_
