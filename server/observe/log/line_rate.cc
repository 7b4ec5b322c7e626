#include "server/observe/log/line_rate.h"

#include <chrono>

namespace warpfold {

bool LineRate::Takes(std::int64_t per_s) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::steady_clock::now().time_since_epoch())
                               .count();
  std::int64_t second = second_.load(std::memory_order_relaxed);
  if (second != now && second_.compare_exchange_strong(second, now, std::memory_order_relaxed)) {
    taken_.store(0, std::memory_order_relaxed);
  }
  return taken_.load(std::memory_order_relaxed) < per_s &&
         taken_.fetch_add(1, std::memory_order_relaxed) < per_s;
}

}  // namespace warpfold
