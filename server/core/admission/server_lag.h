// How far the server is behind: what a request waits for the server though all its bytes are here.
//
// Who has to tell slow clients from a slow server (OpenCalls, Watchdog) takes the mean time in
// which requests became whole of late. Clients whose requests never do have no part in it.
//
// Step of a request: 1. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_SERVER_LAG_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_SERVER_LAG_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace warpfold {

class ServerLag {
 public:
  // Clients that complete their requests slowly make it no longer.
  static constexpr std::chrono::milliseconds kMax{1000};

  // A request was whole `wait` after the server had begun to read it.
  void Note(std::chrono::milliseconds wait) {
    sum_ms_.fetch_add(std::min(wait, kMax).count(), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  // Of those that became whole since it was last asked. Of none half of what it said then: clients
  // that hold all calls with half a request are not taken for a slow server for long.
  std::chrono::milliseconds Take() {
    const std::int64_t count = count_.exchange(0, std::memory_order_relaxed);
    const std::int64_t sum_ms = sum_ms_.exchange(0, std::memory_order_relaxed);
    const std::int64_t lag_ms = count == 0 ? lag_ms_ / 2 : sum_ms / count;
    lag_ms_ = lag_ms;
    return std::chrono::milliseconds(lag_ms);
  }

 private:
  std::atomic<std::int64_t> sum_ms_{0};
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> lag_ms_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_SERVER_LAG_H_
