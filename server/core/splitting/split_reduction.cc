#include "server/core/splitting/split_reduction.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/types/span.h"

namespace warpfold {

SplitReduction::SplitReduction(SplitHost& host, Task& task)
    : host_(host),
      task_(task),
      reduced_(task.shards.size()),
      pending_(task.shards.size()),
      not_reduced_(task.shards.size()) {
  for (const bool exactly : {false, true}) {
    for (std::size_t i = 0; i < task.shards.size(); ++i) parts_.emplace_back(*this, i, exactly);
  }
  absl::MutexLock lock(&mutex_);
  report_.device = task.shard_devices;
  report_.outcome = Outcome{};
}

absl::Status SplitReduction::Submit() { return SubmitFrom(0); }

absl::Status SplitReduction::SubmitFrom(std::size_t first) {
  const std::size_t end = first + task_.shards.size();
  for (std::size_t i = first; i < end; ++i) {
    const absl::Status queued = host_.SubmitTo(DeviceOf(i), &parts_[i].task());
    if (queued.ok()) continue;
    // A shard that failed meanwhile is why the device refused the next, and says more.
    if (GiveUp(i, end - i, queued)) return failure();
    break;
  }
  return absl::OkStatus();
}

void SplitReduction::StartOver() {
  {
    absl::MutexLock lock(&mutex_);
    before_ = std::exchange(report_.outcome->times, {});
  }
  const std::size_t count = task_.shards.size();
  reduced_ = std::vector<ShardResults>(count);
  not_reduced_ = count;
  pending_ = count;
  if (!SubmitFrom(count).ok()) host_.End(task_, TakeReport());
}

bool SplitReduction::Withdraw() {
  const absl::Status why = task_.token.CheckCancelled();
  return GiveUp(parts_.size(), 0,
                why.ok() ? absl::CancelledError("the request was withdrawn") : why);
}

bool SplitReduction::GiveUp(std::size_t submitted, std::size_t never_submitted,
                            const absl::Status& why) {
  Fail(submitted, why);
  std::size_t given_back = never_submitted;
  for (std::size_t i = 0; i < submitted; ++i) {
    if (host_.WithdrawFrom(DeviceOf(i), &parts_[i].task())) ++given_back;
  }
  // Whoever takes back the last one, and nobody who comes later.
  return given_back > 0 && pending_.fetch_sub(given_back, std::memory_order_acq_rel) == given_back;
}

absl::StatusOr<Outcome> SplitReduction::Reduce(Worker& worker, std::size_t index, bool exactly) {
  absl::StatusOr<ShardResults> shard =
      ReduceShard(worker, *task_.plan, task_.shards[index], exactly);
  if (!shard.ok()) {
    Fail(index, shard.status());  // before the worker takes the next task
    return shard.status();
  }
  Outcome outcome{.results = {}, .times = shard->times};
  reduced_[index] = *std::move(shard);
  if (not_reduced_.fetch_sub(1, std::memory_order_acq_rel) > 1) return outcome;
  absl::StatusOr<std::optional<std::vector<std::string>>> results =
      JoinShards(worker, *task_.plan, absl::MakeSpan(reduced_));
  if (!results.ok()) return results.status();
  if (results->has_value()) {
    outcome.results = **std::move(results);
  } else {
    is_undecided_ = true;
  }
  return outcome;
}

void SplitReduction::ShardDone(std::size_t index, TaskReport report) {
  Note(index, std::move(report));
  // The mutex is let go of before: the last one destroys it.
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (is_undecided_.exchange(false) && failure().ok()) return StartOver();
  host_.End(task_, TakeReport());
}

void SplitReduction::Fail(std::size_t index, const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (!absl::IsOutOfRange(why)) {
    if (!failure_.ok()) return;
    failure_ = why;
    // Not its status, which may say that its device is lost: that of the others is not.
    const absl::Status another = absl::CancelledError("another shard has failed");
    for (ShardOwner& part : parts_) part.task().token.Cancel(another);
  } else if (overflow_.ok() || index < overflow_shard_) {
    overflow_ = why;
    overflow_shard_ = index;
  }
}

absl::Status SplitReduction::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

void SplitReduction::Note(std::size_t index, TaskReport report) {
  if (!report.outcome.ok()) Fail(index, report.outcome.status());
  absl::MutexLock lock(&mutex_);
  // Shards are reduced at the same time: the slowest one's times are the reduction's.
  report_.queue = std::max(report_.queue, report.queue);
  if (!report.outcome.ok()) return;
  DeviceTimes& times = report_.outcome->times;
  const DeviceTimes& shard = report.outcome->times;
  times.kernel = std::max(times.kernel, shard.kernel);
  times.device_to_host = std::max(times.device_to_host, shard.device_to_host);
  if (!report.outcome->results.empty()) {
    report_.outcome->results = std::move(report.outcome->results);
  }
}

TaskReport SplitReduction::TakeReport() {
  absl::MutexLock lock(&mutex_);
  TaskReport report = std::move(report_);
  report.outcome->times += before_;
  if (!overflow_.ok()) report.outcome = overflow_;
  if (!failure_.ok()) report.outcome = failure_;
  return report;
}

}  // namespace warpfold
