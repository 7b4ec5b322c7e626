#include "server/core/base/watchdog.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace warpfold {

Watchdog::Watchdog(Duration turn, Missing missing) : turn_(turn), missing_(std::move(missing)) {
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
  now_ms_.store(now_ms_.load(std::memory_order_relaxed) + passed.count(),
                std::memory_order_relaxed);
  for (const Due& due : FindDue(&Watched::due_ms_, Duration::zero())) {
    if (Take(due, &Watched::due_ms_)) due.watched->OnOverdue();
  }
  Shortage shortage = missing_();
  if (shortage.is_none()) return;
  const std::int64_t calls = shortage.calls;
  MakeRoom(shortage, -shortage.grace);
  Shortage urgent{.calls = shortage.urgent_calls - (calls - shortage.calls)};
  if (!urgent.is_none()) MakeRoom(urgent, kUrgentAhead - shortage.grace);
}

std::vector<Watchdog::Due> Watchdog::FindDue(Time time, Duration ahead) {
  const std::int64_t now_ms = now_ms_.load(std::memory_order_relaxed) + ahead.count();
  std::vector<Due> found;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    for (Watched* watched : shard.watched) {
      const std::int64_t at_ms = (watched->*time).load(std::memory_order_relaxed);
      if (at_ms > now_ms) continue;
      // One that is on its way out has no owner any more.
      std::shared_ptr<Watched> owned = watched->weak_from_this().lock();
      if (owned != nullptr) found.push_back({at_ms, std::move(owned)});
    }
  }
  return found;
}

bool Watchdog::Take(const Due& due, Time time) {
  std::int64_t at_ms = due.at_ms;
  return ((*due.watched).*time).compare_exchange_strong(at_ms, Watched::kNever);
}

void Watchdog::MakeRoom(Shortage& shortage, Duration ahead) {
  std::vector<Due> waiting = FindDue(&Watched::gives_way_ms_, ahead);
  std::sort(waiting.begin(), waiting.end(),
            [](const Due& a, const Due& b) { return a.at_ms < b.at_ms; });
  for (const Due& due : waiting) {
    if (shortage.is_none()) return;
    if (!Take(due, &Watched::gives_way_ms_) || due.watched->GiveWay(shortage)) continue;
    std::int64_t never = Watched::kNever;  // unless it has been set anew
    due.watched->gives_way_ms_.compare_exchange_strong(never, due.at_ms);
  }
}

}  // namespace warpfold
