#include "server/core/scheduling/worker_pool.h"

#include <algorithm>
#include <utility>

namespace warpfold {
namespace {

int ClientThreadsMax(int threads) {
  return threads < 4 ? threads : threads - std::max(1, threads / 8);
}

}  // namespace

WorkerPool::WorkerPool(std::vector<std::unique_ptr<Worker>> workers,
                       std::chrono::microseconds spin_max, Turn turn)
    : spin_max_(spin_max),
      turn_(std::move(turn)),
      client_threads_max_(ClientThreadsMax(static_cast<int>(workers.size()))),
      workers_(std::move(workers)) {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    threads_.emplace_back([this, worker = worker.get()] { Serve(*worker); });
  }
}

WorkerPool::~WorkerPool() {
  Drain();
  threads_.clear();
}

void WorkerPool::Push(const QueuedTask& queued) {
  absl::MutexLock lock(&mutex_);
  (queued.task->waits_for_client ? clients_ : here_).Push(queued);
  idle_.WakeOne();
}

bool WorkerPool::Remove(const Task* task) {
  absl::MutexLock lock(&mutex_);
  return here_.Remove(task) || clients_.Remove(task);
}

void WorkerPool::TakeAll(std::vector<QueuedTask>& taken) {
  std::unordered_map<Task*, std::unique_ptr<WorkerRun>> dropped;  // without the lock
  absl::MutexLock lock(&mutex_);
  here_.TakeAll(taken);
  clients_.TakeAll(taken);
  std::vector<QueuedTask> resumed;
  resumed_.TakeAll(resumed);
  for (const auto& [task, run] : begun_) taken.push_back({task, Clock::now()});
  dropped.swap(begun_);
}

void WorkerPool::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  idle_.WakeAll();
}

WorkerPool::State WorkerPool::state() const {
  absl::MutexLock lock(&mutex_);
  return {.waiting = static_cast<std::int64_t>(here_.size() + clients_.size() + resumed_.size()),
          .running = running_,
          .threads = static_cast<std::int64_t>(workers_.size())};
}

bool WorkerPool::IsBefore(const QueuedTask& a, const QueuedTask& b) const {
  const double had_a = shares_.had(a.task->line);
  const double had_b = shares_.had(b.task->line);
  return had_a != had_b ? had_a < had_b : a.since < b.since;
}

std::optional<WorkerPool::Taken> WorkerPool::TakeRunnable() {
  TaskQueue* next = here_.empty() ? nullptr : &here_;
  if (client_threads_ < client_threads_max_) {
    if (!clients_.empty() && (next == nullptr || IsBefore(clients_.front(), next->front()))) {
      next = &clients_;
    }
    if (!resumed_.empty() && (next == nullptr || !last_was_resumed_)) next = &resumed_;
  }
  if (next == nullptr) return std::nullopt;
  const QueuedTask queued = next->Pop();
  ++running_;
  Taken taken{.task = queued.task, .line = queued.task->line};
  taken.charged = shares_.Begin(taken.line);
  if (next != &here_) {
    ++client_threads_;
    if (!has_clients()) taken.patience = Patience::kNobodyWaits;
  }
  last_was_resumed_ = next == &resumed_;
  if (last_was_resumed_) {
    taken.run = std::move(begun_.extract(queued.task).mapped());
    taken.run->WaitsSince(queued.since);
  } else {
    taken.run = std::make_unique<WorkerRun>(*queued.task, queued.since);
  }
  return taken;
}

std::optional<WorkerPool::Taken> WorkerPool::Take(Clock::time_point spin_until) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    if (std::optional<Taken> taken = TakeRunnable(); taken.has_value()) return taken;
    if (draining_ && has_drained()) return std::nullopt;
    idle_.Wait(mutex_, spin_until);
  }
}

bool WorkerPool::has_drained() const {
  return here_.empty() && !has_clients() && begun_.empty() && client_threads_ == 0;
}

void WorkerPool::GiveBack(const Taken& taken, Clock::duration took, bool waits_for_client) {
  shares_.End(taken.line, taken.charged, std::chrono::duration<double>(took).count());
  --running_;
  if (waits_for_client) --client_threads_;
  // The others wait for tasks that this one might have parked.
  if (draining_ && has_drained()) idle_.WakeAll();
}

void WorkerPool::Park(Taken taken, Clock::duration took) {
  absl::MutexLock lock(&mutex_);
  GiveBack(taken, took, /*waits_for_client=*/true);
  Task* const task = taken.task;
  const std::size_t bytes = taken.run->awaited_bytes();
  begun_.emplace(task, std::move(taken.run));
  // Under the lock: whoever takes all that wait is done with the task at once.
  if (!task->payload->WakeWhenHere(bytes, [this, task] { Wake(task); })) {
    resumed_.Push({task, Clock::now()});
    idle_.WakeOne();
  }
}

void WorkerPool::Wake(Task* task) {
  absl::MutexLock lock(&mutex_);
  // It may have been taken meanwhile, and be gone.
  if (begun_.count(task) == 0 || resumed_.Has(task)) return;
  resumed_.Push({task, Clock::now()});
  idle_.WakeOne();
}

void WorkerPool::Serve(Worker& worker) {
  Clock::time_point spin_until;  // long past
  while (std::optional<Taken> taken = Take(spin_until)) {
    const Clock::time_point begin = Clock::now();
    Task* const task = taken->task;
    std::optional<TaskReport> report = turn_(worker, *taken->run, taken->patience);
    const Clock::duration took = Clock::now() - begin;
    if (report.has_value()) {
      taken->run.reset();
      {
        // Before OnDone: a client that has its answer finds the thread free.
        absl::MutexLock lock(&mutex_);
        GiveBack(*taken, took, task->waits_for_client);
      }
      task->owner.OnDone(*std::move(report));
    } else {
      Park(*std::move(taken), took);
    }
    const Clock::time_point end = Clock::now();
    spin_until = end + std::min<Clock::duration>(spin_max_, end - begin);
  }
}

}  // namespace warpfold
