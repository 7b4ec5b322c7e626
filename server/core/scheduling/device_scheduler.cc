#include "server/core/scheduling/device_scheduler.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/core/base/refusal.h"
#include "server/core/scheduling/worker_run.h"
#include "server/device/device_error.h"

namespace warpfold {
namespace {

absl::Status LostError(const DeviceInfo& device) {
  return absl::UnavailableError(absl::StrCat("the device ", device.name, " is lost"));
}

absl::Status MakeWorkers(Executor& executor, int count,
                         std::vector<std::unique_ptr<Worker>>& workers) {
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<Worker>> worker = executor.MakeWorker();
    if (!worker.ok()) {
      return absl::Status(worker.status().code(),
                          absl::StrCat("worker ", i, " of ", count, " on ", executor.info().name,
                                       ": ", worker.status().message()));
    }
    workers.push_back(*std::move(worker));
  }
  return absl::OkStatus();
}

absl::Status MakeBatchWorkers(Executor& executor, int count,
                              std::vector<std::unique_ptr<BatchWorker>>& workers) {
  const std::string& device = executor.info().name;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<BatchWorker>> worker = executor.MakeBatchWorker();
    if (!worker.ok()) {
      return absl::Status(worker.status().code(), absl::StrCat("batch worker on ", device, ": ",
                                                               worker.status().message()));
    }
    workers.push_back(*std::move(worker));
  }
  return absl::OkStatus();
}

}  // namespace

DeviceScheduler::DeviceScheduler(Executor& executor, const SchedulerOptions& options,
                                 Workers workers)
    : executor_(executor),
      options_(options),
      inline_workers_(std::move(workers.inlined)),
      queue_depth_max_(options.queue_depth_max),
      batcher_(executor.batch_limits(), std::move(workers.batches)),
      has_batches_(batcher_.has_workers()) {
  for (const std::unique_ptr<Worker>& worker : inline_workers_) {
    free_inline_workers_.push_back(worker.get());
  }
  workers_ =
      std::make_unique<WorkerPool>(std::move(workers.queued), options.spin_max,
                                   [this](Worker& worker, WorkerRun& run, Patience patience) {
                                     return Turn(worker, run, patience);
                                   });
  if (has_batches_) {
    completer_ = std::make_unique<BatchCompleter>(
        options.batch_workers, options.spin_max, [this] { return NextBatch(); },
        [this](std::unique_ptr<BatchRun> batch) { Complete(std::move(batch)); });
  }
}

absl::StatusOr<std::unique_ptr<DeviceScheduler>> DeviceScheduler::Create(
    Executor& executor, const SchedulerOptions& options) {
  Workers workers;
  absl::Status made = MakeWorkers(executor, options.workers, workers.queued);
  if (made.ok() && executor.inline_bytes_max() > 0) {
    made = MakeWorkers(executor, options.workers, workers.inlined);
  }
  if (made.ok() && executor.batch_limits().tensors > 0) {
    made = MakeBatchWorkers(executor, options.batch_workers, workers.batches);
  }
  if (!made.ok()) return made;
  return std::unique_ptr<DeviceScheduler>(
      new DeviceScheduler(executor, options, std::move(workers)));
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
  Worker* inline_worker = nullptr;
  std::unique_ptr<BatchRun> batch;
  // Who has more to bring is the one who can fill the next batch meanwhile.
  const Clock::duration wait_max =
      task->is_pipelined_stream ? Clock::duration::zero() : options_.caller_wait_max;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status serves = CheckServes(); !serves.ok()) return serves;
    if (!batches) inline_worker = TakeInlineWorker(*task);
    if (inline_worker == nullptr) {
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
  if (inline_worker != nullptr) RunInline(*inline_worker, arrived);
  return absl::OkStatus();
}

bool DeviceScheduler::LaunchesBatch(const Task& task) const {
  return batcher_.has_free_worker() && task.may_run_inline &&
         !(task.is_pipelined_stream && batcher_.is_idle());
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

Worker* DeviceScheduler::TakeInlineWorker(const Task& task) {
  if (free_inline_workers_.empty() || !task.may_run_inline || task.done_waits ||
      task.plan->input_bytes > executor_.inline_bytes_max()) {
    return nullptr;
  }
  Worker* worker = free_inline_workers_.back();
  free_inline_workers_.pop_back();
  return worker;
}

void DeviceScheduler::RunInline(Worker& worker, const QueuedTask& arrived) {
  WorkerRun run(*arrived.task, arrived.since);
  TaskReport report = *Turn(worker, run, Patience::kOthersWait);  // it waits for no client
  {
    absl::MutexLock lock(&mutex_);
    free_inline_workers_.push_back(&worker);
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
          .workers_in_use = workers.running,
          .workers = workers.threads,
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
    // Before OnDone: a client that has its answer finds the worker free. From here on the scheduler
    // may go, but for its threads.
    absl::MutexLock lock(&mutex_);
    batcher_.GiveBack(batch->worker());
    if (batcher_.has_next()) completer_->Call();
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    batch->tasks()[i].task->owner.OnDone(std::move(reports[i]));
  }
}

std::optional<TaskReport> DeviceScheduler::Turn(Worker& worker, WorkerRun& run, Patience patience) {
  const bool uses_device = !std::holds_alternative<RunOnHost>(run.task().action);
  if (!run.Turn(worker, patience)) return std::nullopt;
  TaskReport report = run.TakeReport();
  sojourn_.Note(report.queue);
  report.device = &executor_.info();
  const absl::Status& status = report.outcome.status();
  if (uses_device && !status.ok() && IsDeviceLost(status)) Lose(status);
  return report;
}

}  // namespace warpfold
