// Ends what waits for a client too long: one thread, which looks at everything watched in turns.
// While others miss memory, or too many calls are open, what has waited for some time ends sooner:
// the longest first, and no more than is missing.
//
// Its time is its own: the sum of its turns, of which one counts four times the usual at most.
// After a stop of the whole process (SIGSTOP, a snapshot of the machine) nothing is overdue that
// nobody could serve meanwhile; and who is watched reads a number instead of a clock.
//
// Step of a request: 1 and the way back. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_BASE_WATCHDOG_H_
#define WARPFOLD_SERVER_CORE_BASE_WATCHDOG_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace warpfold {

class Watchdog;

// What others miss.
struct Shortage {
  std::int64_t bytes = 0;
  std::int64_t calls = 0;         // that are open
  std::int64_t urgent_calls = 0;  // of them, however short they have waited
  // Who has waited for no longer than this beside the time that GivesWayIn named may have waited
  // for the server.
  std::chrono::milliseconds grace{0};

  bool is_none() const { return bytes <= 0 && calls <= 0; }
};

// Something that may become overdue. Owned by shared_ptrs.
class Watched : public std::enable_shared_from_this<Watched> {
 public:
  virtual ~Watched() = default;

 protected:
  // The time that DueIn named has passed. On the watchdog's thread, with no lock held; it must not
  // wait. Comes once for each DueIn, unless another DueIn or NotDue came first; one that comes at
  // the same moment may be too late to be heard.
  virtual void OnOverdue() = 0;

  // Others miss something, and the time that GivesWayIn named has passed, or would have within
  // kUrgentAhead: ends what holds some of it here, and takes that off `shortage`. False: it goes
  // on, and is asked again. As OnOverdue in all else.
  virtual bool GiveWay(Shortage& /*shortage*/) { return false; }

 private:
  friend class Watchdog;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // Of the watchdog's time.
  std::atomic<std::int64_t> due_ms_{kNever};
  std::atomic<std::int64_t> gives_way_ms_{kNever};
  std::size_t place_ = 0;  // in its shard, under the shard's mutex
};

class Watchdog {
 public:
  using Duration = std::chrono::milliseconds;

  // Says what others have missed since it was last asked.
  using Missing = std::function<Shortage()>;

  // Of urgent calls, by how much sooner they give way.
  static constexpr Duration kUrgentAhead{1000};

  // Begins to look, every `turn`. Zero: only Advance does, for tests. `missing` outlives it.
  explicit Watchdog(
      Duration turn, Missing missing = [] { return Shortage{}; });
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From Add to Remove `watched` is looked at. REQUIRES: a shared_ptr owns it; each once.
  void Add(Watched& watched);
  void Remove(Watched& watched);

  // OnOverdue comes no sooner than `after` from now, and one or two turns later at most.
  void DueIn(Watched& watched, Duration after) const {
    watched.due_ms_.store(now_ms_.load(std::memory_order_relaxed) + after.count() + turn_.count(),
                          std::memory_order_relaxed);
  }
  void NotDue(Watched& watched) const {
    watched.due_ms_.store(Watched::kNever, std::memory_order_relaxed);
  }

  // GiveWay comes no sooner than `after` from now.
  void GivesWayIn(Watched& watched, Duration after) const {
    watched.gives_way_ms_.store(now_ms_.load(std::memory_order_relaxed) + after.count(),
                                std::memory_order_relaxed);
  }

  // How much of its time has passed.
  Duration now() const { return Duration(now_ms_.load(std::memory_order_relaxed)); }

  // Lets `passed` pass, tells what is overdue then, and makes room.
  void Advance(Duration passed);

 private:
  // Calls come and go thousands of times a second, on all processors.
  static constexpr std::size_t kShards = 16;
  struct alignas(64) Shard {
    absl::Mutex mutex;
    std::vector<Watched*> watched ABSL_GUARDED_BY(mutex);
  };

  Shard& ShardOf(const Watched& watched) {
    return shards_[reinterpret_cast<std::uintptr_t>(&watched) / 256 % kShards];
  }
  void Run();
  using Time = std::atomic<std::int64_t> Watched::*;
  struct Due {
    std::int64_t at_ms;
    std::shared_ptr<Watched> watched;
  };
  // Those of which the time has come, or comes `ahead` from now.
  std::vector<Due> FindDue(Time time, Duration ahead);
  // True, and the time never comes again, unless it has been set anew meanwhile.
  static bool Take(const Due& due, Time time);
  void MakeRoom(Shortage& shortage, Duration ahead);

  const Duration turn_;
  const Missing missing_;
  std::atomic<std::int64_t> now_ms_{0};  // its own time
  std::array<Shard, kShards> shards_;
  absl::Notification stopped_;
  std::jthread thread_;  // last: it uses the above
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_WATCHDOG_H_
