#include "server/core/scheduling/device_scheduler.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/core/base/refusal.h"
#include "server/core/scheduling/lane_run.h"
#include "server/device/device_error.h"

namespace warpfold {
namespace {

absl::Status LostError(const DeviceInfo& device) {
  return absl::UnavailableError(absl::StrCat("the device ", device.name, " is lost"));
}

absl::Status MakeLanes(Executor& executor, int count, std::vector<std::unique_ptr<Lane>>& lanes) {
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<Lane>> lane = executor.MakeLane();
    if (!lane.ok()) {
      return absl::Status(lane.status().code(),
                          absl::StrCat("lane ", i, " of ", count, " on ", executor.info().name,
                                       ": ", lane.status().message()));
    }
    lanes.push_back(*std::move(lane));
  }
  return absl::OkStatus();
}

absl::Status MakeBatchLanes(Executor& executor, int count,
                            std::vector<std::unique_ptr<BatchLane>>& lanes) {
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<BatchLane>> lane = executor.MakeBatchLane();
    if (!lane.ok()) {
      return absl::Status(lane.status().code(), absl::StrCat("batch lane on ", executor.info().name,
                                                             ": ", lane.status().message()));
    }
    lanes.push_back(*std::move(lane));
  }
  return absl::OkStatus();
}

}  // namespace

DeviceScheduler::DeviceScheduler(Executor& executor, const SchedulerOptions& options, Lanes lanes)
    : executor_(executor),
      options_(options),
      inline_lanes_(std::move(lanes.inlined)),
      queue_depth_max_(options.queue_depth_max),
      batcher_(executor.batch_limits(), std::move(lanes.batches)),
      has_batches_(batcher_.has_lanes()) {
  for (const std::unique_ptr<Lane>& lane : inline_lanes_) {
    free_inline_lanes_.push_back(lane.get());
  }
  workers_ = std::make_unique<WorkerPool>(
      std::move(lanes.queued), options.look_max,
      [this](Lane& lane, LaneRun& run, Patience patience) { return Turn(lane, run, patience); });
  if (has_batches_) {
    completer_ = std::make_unique<BatchCompleter>(
        options.batch_lanes, options.look_max, [this] { return NextBatch(); },
        [this](std::unique_ptr<BatchRun> batch) { Complete(std::move(batch)); });
  }
}

absl::StatusOr<std::unique_ptr<DeviceScheduler>> DeviceScheduler::Create(
    Executor& executor, const SchedulerOptions& options) {
  Lanes lanes;
  absl::Status made = MakeLanes(executor, options.lanes, lanes.queued);
  if (made.ok() && executor.inline_bytes_max() > 0) {
    made = MakeLanes(executor, options.lanes, lanes.inlined);
  }
  if (made.ok() && executor.batch_limits().tensors > 0) {
    made = MakeBatchLanes(executor, options.batch_lanes, lanes.batches);
  }
  if (!made.ok()) return made;
  return std::unique_ptr<DeviceScheduler>(new DeviceScheduler(executor, options, std::move(lanes)));
}

std::unique_ptr<DeviceScheduler> DeviceScheduler::CreateLost(Executor& executor,
                                                             const SchedulerOptions& options) {
  std::unique_ptr<DeviceScheduler> scheduler(new DeviceScheduler(executor, options, {}));
  absl::MutexLock lock(&scheduler->mutex_);
  scheduler->lost_ = true;
  return scheduler;
}

DeviceScheduler::~DeviceScheduler() {
  Drain();
  const auto no_batch = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return batcher_.is_idle() && batcher_.waiting() == 0;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&no_batch));
}

absl::Status DeviceScheduler::CheckServes() const {
  if (draining_) return absl::UnavailableError("the server is shutting down");
  if (lost_) return LostError(executor_.info());
  return absl::OkStatus();
}

absl::Status DeviceScheduler::CheckQueue(std::int64_t waiting) {
  if (waiting < queue_depth_max_) return absl::OkStatus();
  ++refused_;
  return RefusalStatus(RetryLater{sojourn_.RetryDelay(options_.retry_delay)},
                       absl::StrCat("the queue of ", queue_depth_max_, " requests is full"));
}

absl::Status DeviceScheduler::CheckRoom(const Task& /*task*/) {
  absl::MutexLock lock(&mutex_);
  absl::Status serves = CheckServes();
  return serves.ok() ? CheckQueue(workers_->state().waiting) : serves;
}

absl::Status DeviceScheduler::Submit(Task* task) {
  const QueuedTask arrived{task, Clock::now()};
  const bool batches = Batches(*task);
  Lane* inline_lane = nullptr;
  std::unique_ptr<BatchRun> batch;
  // Who has more to bring is the one who can fill the next batch meanwhile.
  const Clock::duration wait_max =
      task->has_more_behind ? Clock::duration::zero() : options_.caller_wait_max;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status serves = CheckServes(); !serves.ok()) return serves;
    if (!batches) inline_lane = TakeInlineLane(*task);
    if (inline_lane == nullptr) {
      const bool launches = batches && LaunchesBatch(*task);
      absl::Status queues;
      if (!batches) {
        queues = CheckQueue(workers_->state().waiting);
      } else if (!launches) {
        queues = CheckQueue(batcher_.waiting());
      }
      // Under the lock: who has ceased to want it is either seen here, or finds it in the queue.
      if (queues.ok()) queues = task->token.CheckCancelled();
      if (queues.ok() && !batches) queues = task->owner.MayQueue();
      if (!queues.ok()) return queues;
      if (!batches) {
        workers_->Push(arrived);
      } else {
        batcher_.Push(arrived);
        if (launches) {
          batch = FormBatch();
        } else if (batcher_.has_next()) {
          completer_->Call();
        }
      }
    }
  }
  if (batch != nullptr) RunByCaller(std::move(batch), wait_max);
  if (inline_lane != nullptr) RunInline(*inline_lane, arrived);
  return absl::OkStatus();
}

bool DeviceScheduler::LaunchesBatch(const Task& task) const {
  return batcher_.has_free_lane() && task.may_run_inline &&
         !(task.has_more_behind && batcher_.is_idle());
}

std::unique_ptr<BatchRun> DeviceScheduler::FormBatch() {
  std::unique_ptr<BatchRun> batch = batcher_.Form();
  if (batcher_.has_next()) completer_->Call();
  return batch;
}

std::unique_ptr<BatchRun> DeviceScheduler::NextBatch() {
  std::unique_ptr<BatchRun> batch;
  {
    absl::MutexLock lock(&mutex_);
    batch = FormBatch();
  }
  if (batch != nullptr && options_.on_batch) {
    options_.on_batch(static_cast<int>(batch->tasks().size()));
  }
  return batch;
}

// All of its bytes have to be here: a batch waits for no client. Nor does it wait for what one of
// its tasks does in the end.
bool DeviceScheduler::Batches(const Task& task) const {
  return has_batches_ && !task.waits_for_client && !task.done_waits &&
         std::holds_alternative<ReducePayload>(task.action) && executor_.Batches(*task.plan);
}

Lane* DeviceScheduler::TakeInlineLane(const Task& task) {
  if (free_inline_lanes_.empty() || !task.may_run_inline || task.done_waits ||
      task.plan->input_bytes > executor_.inline_bytes_max()) {
    return nullptr;
  }
  Lane* lane = free_inline_lanes_.back();
  free_inline_lanes_.pop_back();
  return lane;
}

void DeviceScheduler::RunInline(Lane& lane, const QueuedTask& arrived) {
  LaneRun run(*arrived.task, arrived.since);
  TaskReport report = *Turn(lane, run, Patience::kOthersWait);  // it waits for no client
  {
    absl::MutexLock lock(&mutex_);
    free_inline_lanes_.push_back(&lane);
  }
  arrived.task->owner.OnDone(std::move(report));
}

bool DeviceScheduler::Withdraw(Task* task) {
  absl::MutexLock lock(&mutex_);
  return batcher_.Remove(task) || workers_->Remove(task);
}

void DeviceScheduler::SetQueueDepthMax(int queue_depth_max) {
  absl::MutexLock lock(&mutex_);
  queue_depth_max_ = queue_depth_max;
}

void DeviceScheduler::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  workers_->Drain();
}

SchedulerState DeviceScheduler::state() const {
  absl::MutexLock lock(&mutex_);
  const WorkerPool::State workers = workers_->state();
  return {.queued = static_cast<std::int64_t>(batcher_.waiting()) + workers.waiting,
          .lanes_in_use = workers.running,
          .lanes = workers.threads,
          .devices_lost = lost_ ? 1 : 0,
          .refused_queue = refused_};
}

void DeviceScheduler::Lose(const absl::Status& why) {
  std::vector<QueuedTask> waiting;
  {
    absl::MutexLock lock(&mutex_);
    if (lost_) return;
    lost_ = true;
    batcher_.TakeAll(waiting);
    workers_->TakeAll(waiting);
  }
  if (options_.on_lost) options_.on_lost(executor_.info(), why);
  for (const QueuedTask& queued : waiting) {
    TaskReport report;
    report.outcome = LostError(executor_.info());
    report.queue = Clock::now() - queued.since;
    queued.task->owner.OnDone(std::move(report));
  }
}

void DeviceScheduler::RunByCaller(std::unique_ptr<BatchRun> batch, Clock::duration wait_max) {
  if (options_.on_batch) options_.on_batch(static_cast<int>(batch->tasks().size()));
  if (batch->Run(Clock::now() + wait_max)) {
    Complete(std::move(batch));
  } else {
    completer_->Hand(std::move(batch));
  }
}

void DeviceScheduler::Complete(std::unique_ptr<BatchRun> batch) {
  std::vector<TaskReport> reports = batch->TakeReports();
  sojourn_.Note(reports.front().queue);  // the one that waited longest
  for (TaskReport& report : reports) {
    report.device = &executor_.info();
    const absl::Status& status = report.outcome.status();
    if (!status.ok() && IsDeviceLost(status)) Lose(status);
  }
  {
    // Before OnDone: a client that has its answer finds the lane free. From here on the scheduler
    // may go, but for its threads.
    absl::MutexLock lock(&mutex_);
    batcher_.GiveBack(batch->lane());
    if (batcher_.has_next()) completer_->Call();
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    batch->tasks()[i].task->owner.OnDone(std::move(reports[i]));
  }
}

std::optional<TaskReport> DeviceScheduler::Turn(Lane& lane, LaneRun& run, Patience patience) {
  const bool uses_device = !std::holds_alternative<RunOnHost>(run.task().action);
  if (!run.Turn(lane, patience)) return std::nullopt;
  TaskReport report = run.TakeReport();
  sojourn_.Note(report.queue);
  report.device = &executor_.info();
  const absl::Status& status = report.outcome.status();
  if (uses_device && !status.ok() && IsDeviceLost(status)) Lose(status);
  return report;
}

}  // namespace warpfold
