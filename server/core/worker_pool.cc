#include "server/core/worker_pool.h"

#include <algorithm>
#include <utility>

namespace warpfold {
namespace {

int ClientThreadsMax(int threads) {
  return threads < 4 ? threads : threads - std::max(1, threads / 8);
}

}  // namespace

WorkerPool::WorkerPool(std::vector<std::unique_ptr<Lane>> lanes, std::chrono::microseconds spin_max,
                       Run run)
    : spin_max_(spin_max),
      run_(std::move(run)),
      client_threads_max_(ClientThreadsMax(static_cast<int>(lanes.size()))),
      lanes_(std::move(lanes)) {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    threads_.emplace_back([this, lane = lane.get()] { Serve(*lane); });
  }
}

WorkerPool::~WorkerPool() {
  Drain();
  threads_.clear();
}

void WorkerPool::Push(const QueuedWork& queued) {
  absl::MutexLock lock(&mutex_);
  (queued.work->waits_for_client() ? clients_ : here_).Push(queued);
  idle_.WakeOne();
}

bool WorkerPool::Remove(const Work* work) {
  absl::MutexLock lock(&mutex_);
  return here_.Remove(work) || clients_.Remove(work);
}

void WorkerPool::TakeAll(std::vector<QueuedWork>& taken) {
  absl::MutexLock lock(&mutex_);
  here_.TakeAll(taken);
  clients_.TakeAll(taken);
}

void WorkerPool::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  idle_.WakeAll();
}

WorkerPool::State WorkerPool::state() const {
  absl::MutexLock lock(&mutex_);
  return {.waiting = static_cast<std::int64_t>(here_.size() + clients_.size()),
          .running = running_,
          .threads = static_cast<std::int64_t>(lanes_.size())};
}

std::optional<QueuedWork> WorkerPool::TakeRunnable() {
  const bool takes_clients = !clients_.empty() && client_threads_ < client_threads_max_;
  if (here_.empty() && !takes_clients) return std::nullopt;
  ++running_;
  if (!takes_clients || (!here_.empty() && here_.front().since <= clients_.front().since)) {
    return here_.Pop();
  }
  ++client_threads_;
  return clients_.Pop();
}

std::optional<QueuedWork> WorkerPool::Take(Clock::time_point spin_until) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    if (std::optional<QueuedWork> queued = TakeRunnable(); queued.has_value()) return queued;
    // What waits for clients now is for the threads that hold such works.
    if (draining_) return std::nullopt;
    idle_.Wait(mutex_, spin_until);
  }
}

void WorkerPool::GiveBack(bool waits_for_client) {
  absl::MutexLock lock(&mutex_);
  --running_;
  if (waits_for_client) --client_threads_;
}

void WorkerPool::Serve(Lane& lane) {
  Clock::time_point spin_until;  // long past
  while (const std::optional<QueuedWork> queued = Take(spin_until)) {
    const Clock::time_point begin = Clock::now();
    const bool waits_for_client = queued->work->waits_for_client();
    WorkReport report = run_(lane, *queued);
    // Before Done: a client that has its answer finds the thread free.
    GiveBack(waits_for_client);
    queued->work->Done(std::move(report));
    const Clock::time_point end = Clock::now();
    spin_until = end + std::min<Clock::duration>(spin_max_, end - begin);
  }
}

}  // namespace warpfold
