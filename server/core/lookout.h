// Where a thread that has just worked looks for more before it sleeps: to wake a thread that has
// slept for a millisecond takes 50 to 150 us on a virtual machine, a look ends at once.
//
// Step of a request: 2, decide. A queue has one beside its condition variable; one thread at a time
// keeps the lookout, so that however many a queue has, they never take more than one processor.
//
// All but Look are called under the queue's mutex.
#ifndef WARPFOLD_SERVER_CORE_LOOKOUT_H_
#define WARPFOLD_SERVER_CORE_LOOKOUT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace warpfold {

class Lookout {
 public:
  using Clock = std::chrono::steady_clock;

  bool is_kept() const { return kept_; }

  // Begins to keep it. REQUIRES: !is_kept(). What it gives is for Look and Leave.
  std::uint64_t Keep() {
    kept_ = true;
    return calls_.load(std::memory_order_relaxed);
  }

  // Calls whoever keeps it, who does so no longer. False: nobody does, so a sleeper has to wake.
  bool Call() {
    if (!kept_) return false;
    kept_ = false;
    calls_.fetch_add(1, std::memory_order_release);
    return true;
  }

  // Waits for a call, until `end`, without sleeping; lets other threads have the processor.
  void Look(std::uint64_t kept, Clock::time_point end) const {
    while (calls_.load(std::memory_order_acquire) == kept && Clock::now() < end) {
      std::this_thread::yield();
    }
  }

  // After Look: keeps it no longer.
  void Leave(std::uint64_t kept) {
    if (calls_.load(std::memory_order_relaxed) == kept) kept_ = false;  // else it was called
  }

 private:
  bool kept_ = false;
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_LOOKOUT_H_
