// A reduction split over the devices on which its tensor's shards lie. See split_run.h.
//
// Where partials leave its results undecided (shard_reduce.h) it starts over, once, and its shards
// are reduced exactly. A device whose queue is full then ends it as one that was full at first.
//
// Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_REDUCTION_H_
#define WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_REDUCTION_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/request/task.h"
#include "server/core/splitting/shard_reduce.h"
#include "server/core/splitting/split_run.h"

namespace warpfold {

class SplitReduction final : public SplitRun {
 public:
  SplitReduction(SplitHost& host, Task& task);

  absl::Status Submit() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Withdraw() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The reduction of one shard.
  class ShardOwner final : public TaskOwner {
   public:
    ShardOwner(SplitReduction& all, std::size_t index, bool exactly)
        : all_(all), index_(index), task_(*this, CancelToken::kNoDeadline, &all.task_.token) {
      task_.action = UseWorker{
          [&all, index, exactly](Worker& worker) { return all.Reduce(worker, index, exactly); }};
      task_.line = all.task_.line;
    }
    Task& task() { return task_; }

    absl::Status MayRun(std::chrono::nanoseconds waited) override {
      return all_.task_.owner.MayRun(waited);
    }
    void OnDone(TaskReport report) override { all_.ShardDone(index_, std::move(report)); }

   private:
    SplitReduction& all_;
    const std::size_t index_;
    Task task_;
  };

  // The device of one of parts_.
  const DeviceInfo& DeviceOf(std::size_t part) const {
    return *task_.shards[part % task_.shards.size()].device;
  }
  // Submits a task for each shard, from parts_[first] on. After the last one this may be gone.
  absl::Status SubmitFrom(std::size_t first) ABSL_LOCKS_EXCLUDED(mutex_);
  // All tasks of the first time are done.
  void StartOver() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs on a worker's thread; the outcome has results when it was the last shard's.
  absl::StatusOr<Outcome> Reduce(Worker& worker, std::size_t index, bool exactly)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ShardDone(std::size_t index, TaskReport report) ABSL_LOCKS_EXCLUDED(mutex_);
  // A result of shard `index` that does not fit is the answer if no shard before it has one, as on
  // one device, so the others go on; of other failures the first in time, and they stop.
  void Fail(std::size_t index, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a shard's report to that of all.
  void Note(std::size_t index, TaskReport report) ABSL_LOCKS_EXCLUDED(mutex_);
  TaskReport TakeReport() ABSL_LOCKS_EXCLUDED(mutex_);
  // Fails with `why` and takes back what waits of the first `submitted` tasks; `never_submitted`
  // others will not come. True when none is left.
  bool GiveUp(std::size_t submitted, std::size_t never_submitted, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(mutex_);

  SplitHost& host_;
  Task& task_;
  // One a shard, and one more should it start over; a deque does not move them.
  std::deque<ShardOwner> parts_;
  std::vector<ShardResults> reduced_;  // each written by its own worker's thread

  std::atomic<std::size_t> pending_;      // tasks that are not done or given back
  std::atomic<std::size_t> not_reduced_;  // shards
  std::atomic<bool> is_undecided_ = false;

  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);   // the first
  absl::Status overflow_ ABSL_GUARDED_BY(mutex_);  // of the first shard that has one
  std::size_t overflow_shard_ ABSL_GUARDED_BY(mutex_) = 0;
  TaskReport report_ ABSL_GUARDED_BY(mutex_);   // of all tasks so far
  DeviceTimes before_ ABSL_GUARDED_BY(mutex_);  // it started over
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_REDUCTION_H_
