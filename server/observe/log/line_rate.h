// How many log lines of a kind a second may have. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_LINE_RATE_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_LINE_RATE_H_

#include <atomic>
#include <cstdint>

namespace warpfold {

// Loses count of a few when two threads meet at a second's start.
class LineRate {
 public:
  // Whether one more may go out in this second, of `per_s`.
  bool Takes(std::int64_t per_s);

 private:
  std::atomic<std::int64_t> second_{-1};
  std::atomic<std::int64_t> taken_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_LINE_RATE_H_
