// Looks at the memory that is taken, and has admission refuse before the system ends the process.
//
// At 0.85 of the limit bodies above 1 MiB are refused and the allocator gives back what it keeps;
// at 0.92 all that needs admission is. A level is left 0.05 below where it begins, so that it does
// not flicker. Limits and budgets should see to it that neither comes: others in the same control
// group, or what nobody counts, can bring them.
#ifndef WARPFOLD_SERVER_MEMORY_WATCH_H_
#define WARPFOLD_SERVER_MEMORY_WATCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "server/core/admission/admission.h"

namespace warpfold {

// What follows `now` when `used_bytes` of `limit_bytes` are taken. Pure.
Pressure NextPressure(Pressure now, std::int64_t used_bytes, std::int64_t limit_bytes);

// Has a thread of its own. Safe from any thread.
class MemoryWatch {
 public:
  struct Parts {
    std::int64_t limit_bytes = 0;
    std::function<std::int64_t()> read_used;  // 0: not known
    std::function<void()> give_back;          // what the allocator keeps; at each look that sheds
    // By the watch's thread, perhaps before the constructor returns.
    std::function<void(Pressure, std::int64_t used_bytes)> on_change;
  };

  // Looks each `interval`, until its end.
  MemoryWatch(Parts parts, std::chrono::milliseconds interval);
  ~MemoryWatch() { stopped_.Notify(); }

  std::int64_t used_bytes() const { return used_bytes_; }
  Pressure pressure() const { return pressure_; }

 private:
  void Look();

  const Parts parts_;
  std::atomic<std::int64_t> used_bytes_{0};
  std::atomic<Pressure> pressure_{Pressure::kNone};
  absl::Notification stopped_;
  std::jthread thread_;  // the last: it uses the others
};

// Has the allocator give free memory back to the system.
void GiveBackFreeMemory();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_MEMORY_WATCH_H_
