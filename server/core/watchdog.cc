#include "server/core/watchdog.h"

#include <algorithm>

#include "absl/time/time.h"

namespace warpfold {

Watchdog::Watchdog(Duration turn) : turn_(turn) {
  if (turn_ > Duration::zero()) thread_ = std::jthread([this] { Run(); });
}

Watchdog::~Watchdog() {
  stopped_.Notify();
  // The last Remove ran on a thread of gRPC's, which has ended for gRPC and not for us: wait for it
  // to leave its shard.
  for (Shard& shard : shards_) absl::MutexLock lock(&shard.mutex);
}

void Watchdog::Run() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  while (!stopped_.WaitForNotificationWithTimeout(absl::FromChrono(turn_))) {
    const Duration passed = std::chrono::duration_cast<Duration>(Clock::now() - last);
    last += passed;  // what is less than a millisecond counts in the next turn
    Advance(std::min(passed, 4 * turn_));
  }
}

void Watchdog::Add(Watched& watched) {
  Shard& shard = ShardOf(watched);
  absl::MutexLock lock(&shard.mutex);
  watched.place_ = shard.watched.size();
  shard.watched.push_back(&watched);
}

void Watchdog::Remove(Watched& watched) {
  Shard& shard = ShardOf(watched);
  absl::MutexLock lock(&shard.mutex);
  Watched* const last = shard.watched.back();
  shard.watched[watched.place_] = last;
  last->place_ = watched.place_;
  shard.watched.pop_back();
}

void Watchdog::Advance(Duration passed) {
  const std::int64_t now_ms = now_ms_.load(std::memory_order_relaxed) + passed.count();
  now_ms_.store(now_ms, std::memory_order_relaxed);
  std::vector<std::shared_ptr<Watched>> overdue;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    for (Watched* watched : shard.watched) {
      std::int64_t due_ms = watched->due_ms_.load(std::memory_order_relaxed);
      if (due_ms > now_ms) continue;
      // One that is on its way out has no owner any more.
      std::shared_ptr<Watched> owned = watched->weak_from_this().lock();
      if (owned != nullptr && watched->due_ms_.compare_exchange_strong(due_ms, Watched::kNever)) {
        overdue.push_back(std::move(owned));
      }
    }
  }
  for (const std::shared_ptr<Watched>& watched : overdue) watched->OnOverdue();
}

}  // namespace warpfold
