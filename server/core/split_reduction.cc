#include "server/core/split_reduction.h"

#include <algorithm>
#include <utility>

namespace warpfold {

SplitReduction::SplitReduction(SplitHost& host, Work& work, const ReduceShards& task)
    : host_(host),
      work_(work),
      task_(task),
      reduced_(task.shards.size()),
      pending_(task.shards.size()),
      not_reduced_(task.shards.size()) {
  for (std::size_t i = 0; i < task.shards.size(); ++i) works_.emplace_back(*this, i);
  absl::MutexLock lock(&mutex_);
  report_.device = task.devices;
  report_.outcome = Outcome{};
}

absl::Status SplitReduction::Submit() {
  // After the last one is submitted this may be gone.
  const std::size_t count = works_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const absl::Status queued = host_.SubmitTo(*task_.shards[i].device, &works_[i]);
    if (queued.ok()) continue;
    // A shard that failed meanwhile is why the device refused the next, and says more.
    if (GiveUp(i, count - i, queued)) return failure();
    break;
  }
  return absl::OkStatus();
}

bool SplitReduction::Withdraw() {
  const absl::Status why = work_.token().CheckCancelled();
  return GiveUp(works_.size(), 0,
                why.ok() ? absl::CancelledError("the request was withdrawn") : why);
}

bool SplitReduction::GiveUp(std::size_t submitted, std::size_t never_submitted,
                            const absl::Status& why) {
  Fail(submitted, why);
  std::size_t given_back = never_submitted;
  for (std::size_t i = 0; i < submitted; ++i) {
    if (host_.WithdrawFrom(*task_.shards[i].device, &works_[i])) ++given_back;
  }
  // Whoever takes back the last one, and nobody who comes later.
  return given_back > 0 && pending_.fetch_sub(given_back, std::memory_order_acq_rel) == given_back;
}

absl::StatusOr<Outcome> SplitReduction::Reduce(Lane& lane, std::size_t index) {
  absl::StatusOr<ShardResults> shard = ReduceShard(lane, works_[index].plan(), task_.shards[index]);
  if (!shard.ok()) {
    Fail(index, shard.status());  // before the lane takes the next work
    return shard.status();
  }
  Outcome outcome{.results = {}, .times = shard->times};
  reduced_[index] = *std::move(shard);
  if (not_reduced_.fetch_sub(1, std::memory_order_acq_rel) > 1) return outcome;
  absl::StatusOr<std::vector<std::string>> results = JoinShards(work_.plan(), reduced_);
  if (!results.ok()) return results.status();
  outcome.results = *std::move(results);
  return outcome;
}

void SplitReduction::ShardDone(std::size_t index, WorkReport report) {
  Note(index, std::move(report));
  // The mutex is let go of before: the last one destroys it.
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  host_.End(work_, TakeReport());
}

void SplitReduction::Fail(std::size_t index, const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (!absl::IsOutOfRange(why)) {
    if (!failure_.ok()) return;
    failure_ = why;
    // Not its status, which may say that its device is lost: that of the others is not.
    const absl::Status another = absl::CancelledError("another shard has failed");
    for (ShardWork& work : works_) work.token().Cancel(another);
  } else if (overflow_.ok() || index < overflow_shard_) {
    overflow_ = why;
    overflow_shard_ = index;
  }
}

absl::Status SplitReduction::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

void SplitReduction::Note(std::size_t index, WorkReport report) {
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

WorkReport SplitReduction::TakeReport() {
  absl::MutexLock lock(&mutex_);
  WorkReport report = std::move(report_);
  if (!overflow_.ok()) report.outcome = overflow_;
  if (!failure_.ok()) report.outcome = failure_;
  return report;
}

}  // namespace warpfold
