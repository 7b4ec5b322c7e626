#include "server/core/scheduling/batch_run.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace warpfold {

BatchRun::BatchRun(BatchWorker& worker, std::vector<QueuedTask> tasks)
    : worker_(worker), tasks_(std::move(tasks)), reports_(tasks_.size()) {}

bool BatchRun::Run(Clock::time_point until) {
  while (Launch()) {
    if (!SpinUntil(until)) return false;
    Collect();
  }
  return true;
}

void BatchRun::RunToEnd() {
  // Longer than a batch of small tensors takes; then the driver waits, which also says why the
  // device does not end.
  constexpr std::chrono::microseconds kSpinMax{200};
  while (Launch()) {
    if (!SpinUntil(Clock::now() + kSpinMax)) worker_.Wait();
    Collect();
  }
}

bool BatchRun::Launch() {
  if (is_launched_) return true;
  if (next_ == 0) start_ = Clock::now();
  StageAll();
  if (staged_.empty()) return false;
  worker_.Launch();
  is_launched_ = true;
  return true;
}

void BatchRun::StageAll() {
  while (next_ < tasks_.size()) {
    TaskReport& report = reports_[next_];
    report.queue = start_ - tasks_[next_].since;
    Task& task = *tasks_[next_].task;
    absl::Status staged = task.token.CheckCancelled();
    if (staged.ok()) staged = task.owner.MayRun(report.queue);
    if (staged.ok()) {
      std::optional<absl::Span<std::byte>> buffer = worker_.Add(*task.plan);
      if (!buffer.has_value() && !staged_.empty()) return;  // it is for the next batch
      staged = buffer.has_value() ? Stage(next_, *buffer)
                                  : absl::InternalError("a tensor does not fit in a batch alone");
    }
    if (!staged.ok()) report.outcome = staged;
    report.receive = Clock::now() - start_;
    ++next_;
  }
}

absl::Status BatchRun::Stage(std::size_t index, absl::Span<std::byte> buffer) {
  PayloadSource& payload = *tasks_[index].task->payload;
  absl::Status read = payload.ReadInto(buffer);
  if (read.ok()) read = payload.ExpectEnd();
  if (read.ok()) {
    staged_.push_back(index);
  } else {
    worker_.DropLast();
  }
  return read;
}

bool BatchRun::SpinUntil(Clock::time_point until) {
  constexpr int kPollsBetweenClocks = 64;
  for (int polls = 1; !worker_.Poll(); ++polls) {
    if (polls % kPollsBetweenClocks == 0 && Clock::now() >= until) return false;
  }
  return true;
}

void BatchRun::Collect() {
  std::vector<absl::StatusOr<Outcome>> outcomes = worker_.Collect();
  for (std::size_t k = 0; k < staged_.size(); ++k) {
    reports_[staged_[k]].outcome = std::move(outcomes[k]);
  }
  staged_.clear();
  is_launched_ = false;
}

}  // namespace warpfold
