// How long those that left lately were here: what a client that is refused is told to wait, since
// whoever comes now waits behind as many. It grows with the queue, and falls with it.
//
// Step of a request: 2, decide. Safe from any thread; of two that leave at the same moment one may
// not count.
#ifndef WARPFOLD_SERVER_CORE_BASE_SOJOURN_H_
#define WARPFOLD_SERVER_CORE_BASE_SOJOURN_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace warpfold {

class Sojourn {
 public:
  void Note(std::chrono::nanoseconds stay) {
    const std::int64_t mean_ns = mean_ns_.load(std::memory_order_relaxed);
    mean_ns_.store(mean_ns + (stay.count() - mean_ns) / kMeanOf, std::memory_order_relaxed);
  }

  // Within [at_least, kDelayMax].
  std::chrono::milliseconds RetryDelay(std::chrono::milliseconds at_least) const {
    const std::chrono::milliseconds mean(mean_ns_.load(std::memory_order_relaxed) / 1'000'000);
    return std::max(at_least, std::min(mean, kDelayMax));
  }

  static constexpr std::chrono::milliseconds kDelayMax{30'000};

 private:
  static constexpr std::int64_t kMeanOf = 16;

  std::atomic<std::int64_t> mean_ns_{0};  // of the last ones, the later the heavier
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_SOJOURN_H_
