// A reduction split over the devices on which its tensor's shards lie. See split_work.h.
//
// Where partials leave its results in doubt (shard_reduce.h) it starts over, once, and its shards
// are reduced exactly. A device whose queue is full then ends it as one that was full at first.
//
// Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SPLIT_REDUCTION_H_
#define WARPFOLD_SERVER_CORE_SPLIT_REDUCTION_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/shard_reduce.h"
#include "server/core/split_work.h"
#include "server/core/work.h"

namespace warpfold {

class SplitReduction final : public SplitWork {
 public:
  SplitReduction(SplitHost& host, Work& work, const ReduceShards& task);

  absl::Status Submit() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Withdraw() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The reduction of one shard.
  class ShardWork final : public Work {
   public:
    ShardWork(SplitReduction& all, std::size_t index, bool exactly)
        : Work(CancelToken::kNoDeadline, &all.work_.token()),
          all_(all),
          index_(index),
          exactly_(exactly) {}

    LaneTask task() override {
      return UseLane{[this](Lane& lane) { return all_.Reduce(lane, index_, exactly_); }};
    }
    const Plan& plan() const override { return all_.work_.plan(); }
    PayloadSource& payload() override { return all_.work_.payload(); }
    Line line() const override { return all_.work_.line(); }
    bool waits_for_client() const override { return false; }
    absl::Status MayRun(std::chrono::nanoseconds waited) override {
      return all_.work_.MayRun(waited);
    }
    void Done(WorkReport report) override { all_.ShardDone(index_, std::move(report)); }

   private:
    SplitReduction& all_;
    const std::size_t index_;
    const bool exactly_;
  };

  // The device of one of works_.
  const DeviceInfo& DeviceOf(std::size_t work) const {
    return *task_.shards[work % task_.shards.size()].device;
  }
  // Submits a work for each shard, from works_[first] on. After the last one this may be gone.
  absl::Status SubmitFrom(std::size_t first) ABSL_LOCKS_EXCLUDED(mutex_);
  // All works of the first time are done.
  void StartOver() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs on a lane's thread; the outcome has results when it was the last shard's.
  absl::StatusOr<Outcome> Reduce(Lane& lane, std::size_t index, bool exactly)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ShardDone(std::size_t index, WorkReport report) ABSL_LOCKS_EXCLUDED(mutex_);
  // A result of shard `index` that does not fit is the answer if no shard before it has one, as on
  // one device, so the others go on; of other failures the first in time, and they stop.
  void Fail(std::size_t index, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a shard's report to that of all.
  void Note(std::size_t index, WorkReport report) ABSL_LOCKS_EXCLUDED(mutex_);
  WorkReport TakeReport() ABSL_LOCKS_EXCLUDED(mutex_);
  // Fails with `why` and takes back what waits of the first `submitted` works; `never_submitted`
  // others will not come. True when none is left.
  bool GiveUp(std::size_t submitted, std::size_t never_submitted, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(mutex_);

  SplitHost& host_;
  Work& work_;
  const ReduceShards task_;
  // One a shard, and one more should it start over; a deque does not move them.
  std::deque<ShardWork> works_;
  std::vector<ShardResults> reduced_;  // each written by its own lane's thread

  std::atomic<std::size_t> pending_;      // works that are not done or given back
  std::atomic<std::size_t> not_reduced_;  // shards
  std::atomic<bool> is_in_doubt_ = false;

  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);   // the first
  absl::Status overflow_ ABSL_GUARDED_BY(mutex_);  // of the first shard that has one
  std::size_t overflow_shard_ ABSL_GUARDED_BY(mutex_) = 0;
  WorkReport report_ ABSL_GUARDED_BY(mutex_);   // of all works so far
  DeviceTimes before_ ABSL_GUARDED_BY(mutex_);  // it started over
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLIT_REDUCTION_H_
