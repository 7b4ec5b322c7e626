#include "server/core/device_scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/lane_run.h"
#include "server/core/refusal.h"

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
  if (!made.ok()) return made;
  {
    absl::MutexLock lock(&scheduler->mutex_);
    for (const std::unique_ptr<Lane>& lane : scheduler->inline_lanes_) {
      scheduler->free_inline_lanes_.push_back(lane.get());
    }
  }
  for (const std::unique_ptr<Lane>& lane : scheduler->lanes_) {
    scheduler->threads_.emplace_back(
        [self = scheduler.get(), lane = lane.get()] { self->RunLane(*lane); });
  }
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

DeviceScheduler::~DeviceScheduler() {
  Drain();
  threads_.clear();
}

absl::Status DeviceScheduler::Submit(Work* work) {
  const Queued arrived = {work, Clock::now()};
  Lane* inline_lane = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return absl::UnavailableError("the server is shutting down");
    if (lost_) return LostError(executor_.info());
    inline_lane = TakeInlineLane(*work);
    if (inline_lane == nullptr) {
      if (queue_.size() >= static_cast<std::size_t>(queue_depth_max_)) {
        ++refused_;
        return RefusalStatus(RetryLater{options_.retry_delay},
                             absl::StrCat("the queue of ", queue_depth_max_, " requests is full"));
      }
      queue_.push_back(arrived);
      work_ready_.Signal();
      return absl::OkStatus();
    }
  }
  WorkReport report = Run(*inline_lane, arrived);
  {
    absl::MutexLock lock(&mutex_);
    free_inline_lanes_.push_back(inline_lane);
  }
  work->Done(std::move(report));
  return absl::OkStatus();
}

Lane* DeviceScheduler::TakeInlineLane(const Work& work) {
  if (free_inline_lanes_.empty() || !work.may_run_inline() ||
      work.plan().input_bytes > executor_.inline_bytes_max()) {
    return nullptr;
  }
  Lane* lane = free_inline_lanes_.back();
  free_inline_lanes_.pop_back();
  return lane;
}

bool DeviceScheduler::Withdraw(Work* work) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [work](const Queued& queued) { return queued.work == work; });
  if (found == queue_.end()) return false;
  queue_.erase(found);
  return true;
}

void DeviceScheduler::SetQueueDepthMax(int queue_depth_max) {
  absl::MutexLock lock(&mutex_);
  queue_depth_max_ = queue_depth_max;
}

void DeviceScheduler::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
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
  }
  if (options_.on_lost) options_.on_lost(executor_.info(), why);
  for (const Queued& queued : waiting) {
    WorkReport report;
    report.outcome = LostError(executor_.info());
    report.queue = Clock::now() - queued.since;
    queued.work->Done(std::move(report));
  }
}

std::deque<DeviceScheduler::Queued>::iterator DeviceScheduler::NextRunnable() {
  if (client_lanes_ < client_lanes_max_) return queue_.begin();
  return std::find_if(queue_.begin(), queue_.end(),
                      [](const Queued& queued) { return !queued.work->waits_for_client(); });
}

DeviceScheduler::Queued DeviceScheduler::Take() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    const auto next = NextRunnable();
    if (next != queue_.end()) {
      const Queued taken = *next;
      queue_.erase(next);
      ++lanes_in_use_;
      if (taken.work->waits_for_client()) ++client_lanes_;
      return taken;
    }
    // A draining lane may leave while streams still wait for one of the client lanes: those lanes
    // take them in turn.
    if (draining_) return {};
    work_ready_.Wait(&mutex_);
  }
}

void DeviceScheduler::GiveBack(bool waited_for_client) {
  absl::MutexLock lock(&mutex_);
  --lanes_in_use_;
  if (waited_for_client) --client_lanes_;
}

WorkReport DeviceScheduler::Run(Lane& lane, const Queued& taken) {
  WorkReport report = RunOnLane(lane, *taken.work, taken.since);
  report.device = &executor_.info();
  if (absl::IsUnavailable(report.outcome.status())) Lose(report.outcome.status());
  return report;
}

void DeviceScheduler::RunLane(Lane& lane) {
  while (true) {
    const Queued taken = Take();
    if (taken.work == nullptr) return;
    const bool waits_for_client = taken.work->waits_for_client();
    WorkReport report = Run(lane, taken);
    // Before Done: a client that has its answer finds the lane free.
    GiveBack(waits_for_client);
    taken.work->Done(std::move(report));
  }
}

}  // namespace warpfold
