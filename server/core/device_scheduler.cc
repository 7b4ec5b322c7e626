#include "server/core/device_scheduler.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/core/lane_run.h"
#include "server/core/refusal.h"
#include "server/device/device_error.h"

namespace warpfold {
namespace {

absl::Status LostError(const DeviceInfo& device) {
  return absl::UnavailableError(absl::StrCat("the device ", device.name, " is lost"));
}

int ClientLanesMax(int lanes) { return lanes < 4 ? lanes : lanes - std::max(1, lanes / 8); }

}  // namespace

DeviceScheduler::DeviceScheduler(Executor& executor, const SchedulerOptions& options)
    : executor_(executor),
      options_(options),
      client_lanes_max_(ClientLanesMax(options.lanes)),
      queue_depth_max_(options.queue_depth_max) {}

absl::StatusOr<std::unique_ptr<DeviceScheduler>> DeviceScheduler::Create(
    Executor& executor, const SchedulerOptions& options) {
  std::unique_ptr<DeviceScheduler> scheduler(new DeviceScheduler(executor, options));
  absl::Status made = scheduler->MakeLanes(options.lanes, scheduler->lanes_);
  if (made.ok() && executor.inline_bytes_max() > 0) {
    made = scheduler->MakeLanes(options.lanes, scheduler->inline_lanes_);
  }
  if (made.ok() && executor.batch_limits().tensors > 0) made = scheduler->MakeBatchLanes();
  if (!made.ok()) return made;
  {
    absl::MutexLock lock(&scheduler->mutex_);
    for (const std::unique_ptr<Lane>& lane : scheduler->inline_lanes_) {
      scheduler->free_inline_lanes_.push_back(lane.get());
    }
    for (const std::unique_ptr<BatchLane>& lane : scheduler->batch_lanes_) {
      scheduler->free_batch_lanes_.push_back(lane.get());
    }
  }
  for (const std::unique_ptr<Lane>& lane : scheduler->lanes_) {
    scheduler->threads_.emplace_back(
        [self = scheduler.get(), lane = lane.get()] { self->RunLane(*lane); });
  }
  return scheduler;
}

std::unique_ptr<DeviceScheduler> DeviceScheduler::CreateLost(Executor& executor,
                                                             const SchedulerOptions& options) {
  std::unique_ptr<DeviceScheduler> scheduler(new DeviceScheduler(executor, options));
  absl::MutexLock lock(&scheduler->mutex_);
  scheduler->lost_ = true;
  return scheduler;
}

absl::Status DeviceScheduler::MakeLanes(int count, std::vector<std::unique_ptr<Lane>>& lanes) {
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<Lane>> lane = executor_.MakeLane();
    if (!lane.ok()) {
      return absl::Status(lane.status().code(),
                          absl::StrCat("lane ", i, " of ", count, " on ", executor_.info().name,
                                       ": ", lane.status().message()));
    }
    lanes.push_back(*std::move(lane));
  }
  return absl::OkStatus();
}

absl::Status DeviceScheduler::MakeBatchLanes() {
  for (int i = 0; i < options_.batch_lanes; ++i) {
    absl::StatusOr<std::unique_ptr<BatchLane>> lane = executor_.MakeBatchLane();
    if (!lane.ok()) {
      return absl::Status(
          lane.status().code(),
          absl::StrCat("batch lane on ", executor_.info().name, ": ", lane.status().message()));
    }
    batch_lanes_.push_back(*std::move(lane));
  }
  return absl::OkStatus();
}

DeviceScheduler::~DeviceScheduler() {
  Drain();
  threads_.clear();
}

absl::Status DeviceScheduler::Submit(Work* work) {
  const Queued arrived = {{work, Clock::now()}, Batches(*work)};
  Lane* inline_lane = nullptr;
  Taken batch;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return absl::UnavailableError("the server is shutting down");
    if (lost_) return LostError(executor_.info());
    inline_lane = TakeInlineLane(arrived);
    if (inline_lane == nullptr) {
      const bool runs_batch = arrived.batches && RunsBatch(*work);
      if (!runs_batch && queue_.size() >= static_cast<std::size_t>(queue_depth_max_)) {
        ++refused_;
        return RefusalStatus(RetryLater{options_.retry_delay},
                             absl::StrCat("the queue of ", queue_depth_max_, " requests is full"));
      }
      // Under the lock: who has ceased to want it is either seen here, or finds it in the queue.
      if (absl::Status wanted = work->Wanted(); !wanted.ok()) return wanted;
      queue_.push_back(arrived);
      if (arrived.batches) ++queued_for_batches_;
      if (runs_batch) {
        batch = TakeBatch();
      } else if (!arrived.batches || !free_batch_lanes_.empty()) {
        // Where no batch lane is free, who gives one back looks for what has collected.
        CallLane();
      }
    }
  }
  if (batch.batch_lane != nullptr) Complete(batch, Run(*batch.batch_lane, batch.works));
  if (inline_lane == nullptr) return absl::OkStatus();
  WorkReport report = Run(*inline_lane, arrived.work);
  {
    absl::MutexLock lock(&mutex_);
    free_inline_lanes_.push_back(inline_lane);
  }
  work->Done(std::move(report));
  return absl::OkStatus();
}

// All of its bytes have to be here: a batch waits for no client.
bool DeviceScheduler::Batches(Work& work) const {
  return !batch_lanes_.empty() && !work.waits_for_client() &&
         std::holds_alternative<ReducePayload>(work.task()) && executor_.Batches(work.plan());
}

Lane* DeviceScheduler::TakeInlineLane(const Queued& arrived) {
  Work& work = *arrived.work.work;
  if (free_inline_lanes_.empty() || arrived.batches || !work.may_run_inline() ||
      work.plan().input_bytes > executor_.inline_bytes_max()) {
    return nullptr;
  }
  Lane* lane = free_inline_lanes_.back();
  free_inline_lanes_.pop_back();
  return lane;
}

bool DeviceScheduler::RunsBatch(const Work& work) const {
  if (free_batch_lanes_.empty() || !work.may_run_inline()) return false;
  const bool is_idle = free_batch_lanes_.size() == batch_lanes_.size();
  const bool thread_is_free = lanes_in_use_ < static_cast<int>(lanes_.size());
  return !work.has_more_behind() || !is_idle || !thread_is_free;
}

bool DeviceScheduler::Withdraw(Work* work) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(), [work](const Queued& queued) {
    return queued.work.work == work;
  });
  if (found == queue_.end()) return false;
  Unqueue(found);
  return true;
}

std::deque<DeviceScheduler::Queued>::iterator DeviceScheduler::Unqueue(
    const std::deque<Queued>::iterator& queued) {
  if (queued->batches && --queued_for_batches_ == 0 && draining_) {
    work_ready_.SignalAll();  // lanes that stayed for it
  }
  return queue_.erase(queued);
}

void DeviceScheduler::SetQueueDepthMax(int queue_depth_max) {
  absl::MutexLock lock(&mutex_);
  queue_depth_max_ = queue_depth_max;
}

void DeviceScheduler::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  lookout_.Call();
  work_ready_.SignalAll();
}

SchedulerState DeviceScheduler::state() const {
  absl::MutexLock lock(&mutex_);
  return {.queued = static_cast<std::int64_t>(queue_.size()),
          .lanes_in_use = lanes_in_use_,
          .lanes = static_cast<std::int64_t>(lanes_.size()),
          .devices_lost = lost_ ? 1 : 0,
          .refused_queue = refused_};
}

void DeviceScheduler::Lose(const absl::Status& why) {
  std::deque<Queued> waiting;
  {
    absl::MutexLock lock(&mutex_);
    if (lost_) return;
    lost_ = true;
    waiting.swap(queue_);
    queued_for_batches_ = 0;
    work_ready_.SignalAll();  // lanes that stayed for it while draining
  }
  if (options_.on_lost) options_.on_lost(executor_.info(), why);
  for (const Queued& queued : waiting) {
    WorkReport report;
    report.outcome = LostError(executor_.info());
    report.queue = Clock::now() - queued.work.since;
    queued.work.work->Done(std::move(report));
  }
}

std::deque<DeviceScheduler::Queued>::iterator DeviceScheduler::NextRunnable() {
  const bool takes_clients = client_lanes_ < client_lanes_max_;
  const bool takes_batches = !free_batch_lanes_.empty();
  return std::find_if(queue_.begin(), queue_.end(), [=](const Queued& queued) {
    if (queued.batches) return takes_batches;
    return takes_clients || !queued.work.work->waits_for_client();
  });
}

std::optional<DeviceScheduler::Taken> DeviceScheduler::TakeRunnable() {
  const auto next = NextRunnable();
  if (next == queue_.end()) return std::nullopt;
  Taken taken;
  if (next->batches) {
    taken = TakeBatch();
  } else {
    taken.works.push_back(next->work);
    taken.waits_for_client = next->work.work->waits_for_client();
    Unqueue(next);
  }
  taken.holds_lane = true;
  ++lanes_in_use_;
  if (taken.waits_for_client) ++client_lanes_;
  return taken;
}

DeviceScheduler::Taken DeviceScheduler::Take(Clock::time_point look_until) {
  std::optional<std::uint64_t> kept;  // the lookout, by this thread
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (kept.has_value()) lookout_.Leave(*std::exchange(kept, std::nullopt));
      if (std::optional<Taken> taken = TakeRunnable(); taken.has_value()) return *std::move(taken);
      // A draining lane may leave while streams still wait for one of the client lanes: those lanes
      // take them in turn. But the batch lanes may be with submitters, who take nothing.
      if (draining_ && queued_for_batches_ == 0) return {};
      if (lookout_.is_kept() || Clock::now() >= look_until) {
        work_ready_.Wait(&mutex_);
        continue;
      }
      kept = lookout_.Keep();
    }
    lookout_.Look(*kept, look_until);
  }
}

void DeviceScheduler::CallLane() {
  if (!lookout_.Call()) work_ready_.Signal();
}

DeviceScheduler::Taken DeviceScheduler::TakeBatch() {
  Taken taken;
  taken.batch_lane = free_batch_lanes_.back();
  free_batch_lanes_.pop_back();
  const BatchLimits limits = executor_.batch_limits();
  std::size_t bytes = 0;
  for (auto next = queue_.begin();
       next != queue_.end() && taken.works.size() < static_cast<std::size_t>(limits.tensors);) {
    if (!next->batches) {
      ++next;
      continue;
    }
    bytes += static_cast<std::size_t>(next->work.work->plan().input_bytes);
    if (!taken.works.empty() && bytes > limits.bytes) break;
    taken.works.push_back(next->work);
    next = Unqueue(next);
  }
  // What one batch does not hold is for another lane's thread.
  if (queued_for_batches_ > 0 && !free_batch_lanes_.empty()) CallLane();
  return taken;
}

void DeviceScheduler::GiveBack(const Taken& taken) {
  absl::MutexLock lock(&mutex_);
  if (taken.holds_lane) --lanes_in_use_;
  if (taken.waits_for_client) --client_lanes_;
  if (taken.batch_lane == nullptr) return;
  free_batch_lanes_.push_back(taken.batch_lane);
  if (queued_for_batches_ > 0) CallLane();
}

void DeviceScheduler::Complete(const Taken& taken, std::vector<WorkReport> reports) {
  // Before Done: a client that has its answer finds the lane free.
  GiveBack(taken);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    taken.works[i].work->Done(std::move(reports[i]));
  }
}

WorkReport DeviceScheduler::Run(Lane& lane, const QueuedWork& taken) {
  const bool uses_device = !std::holds_alternative<RunOnHost>(taken.work->task());
  WorkReport report = RunOnLane(lane, *taken.work, taken.since);
  report.device = &executor_.info();
  if (uses_device && IsDeviceLost(report.outcome.status())) Lose(report.outcome.status());
  return report;
}

std::vector<WorkReport> DeviceScheduler::Run(BatchLane& lane, absl::Span<const QueuedWork> taken) {
  if (options_.on_batch) options_.on_batch(static_cast<int>(taken.size()));
  std::vector<WorkReport> reports = RunBatch(lane, taken);
  for (WorkReport& report : reports) {
    report.device = &executor_.info();
    if (IsDeviceLost(report.outcome.status())) Lose(report.outcome.status());
  }
  return reports;
}

DeviceScheduler::Clock::time_point DeviceScheduler::Serve(Lane& lane, const Taken& taken) {
  const Clock::time_point begin = Clock::now();
  if (taken.batch_lane != nullptr) {
    Complete(taken, Run(*taken.batch_lane, taken.works));
  } else {
    std::vector<WorkReport> reports;
    reports.push_back(Run(lane, taken.works.front()));
    Complete(taken, std::move(reports));
  }
  const Clock::time_point end = Clock::now();
  return end + std::min<Clock::duration>(options_.look_max, end - begin);
}

void DeviceScheduler::RunLane(Lane& lane) {
  Clock::time_point look_until;  // long past
  while (true) {
    const Taken taken = Take(look_until);
    if (taken.works.empty()) return;
    look_until = Serve(lane, taken);
  }
}

}  // namespace warpfold
