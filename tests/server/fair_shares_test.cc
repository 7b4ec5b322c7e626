// Callers that want the same lanes, places and bytes: each gets its share, whatever another asks.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/core/admission.h"
#include "server/core/batcher.h"
#include "server/core/device_scheduler.h"
#include "server/core/lane_shares.h"
#include "server/core/refusal.h"
#include "server/core/work_queue.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_work.h"

namespace warpfold {
namespace {

// The lines of two callers.
const CallerUse kGreedy;
const CallerUse kModest;

// The order in which works end.
class Ends {
 public:
  void Note(Work::Line line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(line);
  }
  std::vector<Work::Line> Await(std::size_t count) {
    const auto has_all = [&]()
                             ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return lines_.size() == count; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_all));
    return lines_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Work::Line> lines_ ABSL_GUARDED_BY(mutex_);
};

class LineWork final : public Work {
 public:
  explicit LineWork(const CallerUse& caller, Ends* ends = nullptr,
                    absl::Notification* gate = nullptr)
      : line_(&caller), ends_(ends), payload_(4, gate) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {4}, .ops = {Op::kSum}, .axes = {}});
  }
  FakePayload& fake_payload() { return payload_; }

  Line line() const override { return line_; }
  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return false; }
  void Done(WorkReport report) override {
    EXPECT_TRUE(report.outcome.ok()) << report.outcome.status();
    ends_->Note(line_);
  }

 private:
  const Line line_;
  Ends* const ends_;
  Plan plan_;
  FakePayload payload_;
};

// How many of the first `count` that are taken, each charged by its line, are the modest one's.
int ModestOf(WorkQueue& queue, LaneShares& shares, int count, double greedy_cost) {
  int modest = 0;
  for (int i = 0; i < count; ++i) {
    const Work::Line line = queue.Pop().work->line();
    shares.Charge(line, line == &kModest ? 1 : greedy_cost);
    modest += line == &kModest ? 1 : 0;
  }
  return modest;
}

class WorkQueueSharesTest : public ::testing::Test {
 protected:
  void Push(const CallerUse& caller, int count) {
    for (int i = 0; i < count; ++i) queue_.Push(Queued(works_.emplace_back(caller)));
  }
  LaneShares shares_;
  WorkQueue queue_{shares_};
  std::deque<LineWork> works_;
};

TEST_F(WorkQueueSharesTest, WhoAsksForMoreWaitsForItself) {
  Push(kGreedy, 1000);
  EXPECT_EQ(ModestOf(queue_, shares_, 500, 1), 0) << "alone";
  Push(kModest, 3);
  EXPECT_EQ(ModestOf(queue_, shares_, 6, 1), 3);
  EXPECT_EQ(ModestOf(queue_, shares_, 497, 1), 0);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(WorkQueueSharesTest, WhatWorksCostCounts) {
  Push(kGreedy, 1000);
  Push(kModest, 1000);
  const int modest = ModestOf(queue_, shares_, 1000, 9);
  EXPECT_GE(modest, 899);
  EXPECT_LE(modest, 901);
}

TEST_F(WorkQueueSharesTest, NobodySavesUpWhatItLeftToOthers) {
  Push(kGreedy, 2000);
  ModestOf(queue_, shares_, 1000, 1);
  Push(kModest, 1000);
  const int modest = ModestOf(queue_, shares_, 200, 1);
  EXPECT_GE(modest, 100);
  EXPECT_LE(modest, 101);
}

TEST_F(WorkQueueSharesTest, OneOfALineIsTakenBack) {
  Push(kGreedy, 2);
  Push(kModest, 1);
  EXPECT_TRUE(queue_.Has(&works_[2]));
  EXPECT_TRUE(queue_.Remove(&works_[2]));
  EXPECT_FALSE(queue_.Remove(&works_[2]));
  EXPECT_FALSE(queue_.Has(&works_[2]));
  EXPECT_EQ(queue_.size(), 2U);
  EXPECT_EQ(queue_.Pop().work, &works_[0]);
  std::vector<QueuedWork> taken;
  queue_.TakeAll(taken);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].work, &works_[1]);
  EXPECT_TRUE(queue_.empty());
}

TEST(LaneSharesTest, ATurnIsChargedAsTheLastOneUntilItEnds) {
  LaneShares shares;
  shares.End(&kGreedy, shares.Begin(&kGreedy), 5);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 5);
  const double charged = shares.Begin(&kGreedy);
  EXPECT_DOUBLE_EQ(charged, 5);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 10);
  shares.End(&kGreedy, charged, 1);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 6);
  EXPECT_EQ(shares.had(&kModest), 0);
}

TEST(BatcherSharesTest, ABatchHasBothCallers) {
  FakeDevice device;
  const BatchLimits limits{.tensors = 4, .bytes = 1 << 20};
  device.fake_batches().BatchUpTo(1 << 20, limits);
  std::vector<std::unique_ptr<BatchLane>> lanes;
  lanes.push_back(*device.MakeBatchLane());
  Batcher batcher(limits, std::move(lanes));
  std::deque<LineWork> works;
  for (int i = 0; i < 10; ++i) batcher.Push(Queued(works.emplace_back(kGreedy)));
  for (int i = 0; i < 10; ++i) batcher.Push(Queued(works.emplace_back(kModest)));
  const std::unique_ptr<BatchRun> run = batcher.Form();
  int modest = 0;
  for (const QueuedWork& queued : run->works()) modest += queued.work->line() == &kModest ? 1 : 0;
  EXPECT_EQ(run->works().size(), 4U);
  EXPECT_EQ(modest, 2);
}

TEST(DeviceSchedulerSharesTest, AModestCallersWorkIsNext) {
  FakeDevice device;
  auto scheduler = *DeviceScheduler::Create(device, {.lanes = 1, .on_lost = {}, .on_batch = {}});
  Ends ends;
  absl::Notification gate;
  std::deque<LineWork> works;
  works.emplace_back(kGreedy, &ends, &gate);
  ASSERT_TRUE(scheduler->Submit(&works[0]).ok());
  works[0].fake_payload().opened().WaitForNotification();
  for (int i = 0; i < 5; ++i) works.emplace_back(kGreedy, &ends);
  works.emplace_back(kModest, &ends);
  for (std::size_t i = 1; i < works.size(); ++i) ASSERT_TRUE(scheduler->Submit(&works[i]).ok());
  gate.Notify();
  EXPECT_EQ(ends.Await(7)[1], &kModest) << "the last that came";
}

class AdmissionSharesTest : public ::testing::Test {
 protected:
  // Until it is refused.
  int Fill(CallerUse* use, const HeldBytes& held = {}) {
    for (int count = 0;; ++count) {
      absl::StatusOr<AdmissionTicket> ticket = admission_.Admit(held, use);
      if (!ticket.ok()) {
        const std::optional<Refusal> refusal = RefusalOf(ticket.status());
        EXPECT_TRUE(refusal.has_value() && std::holds_alternative<RetryLater>(*refusal));
        return count;
      }
      tickets_.push_back(*std::move(ticket));
    }
  }
  AdmissionController admission_{{.max_requests_in_flight = 16, .max_bytes_in_flight = 1600}};
  std::deque<AdmissionTicket> tickets_;
  CallerUse greedy_;
  CallerUse modest_;
  CallerUse third_;
};

TEST_F(AdmissionSharesTest, ACallerHoldsAsManyPlacesAsAreLeft) {
  EXPECT_EQ(Fill(&greedy_), 8);
  EXPECT_EQ(Fill(&modest_), 4);
  EXPECT_EQ(Fill(&third_), 2);
  EXPECT_EQ(admission_.state().refused_share, 3U);
  EXPECT_EQ(Fill(&greedy_), 0);
  tickets_.clear();
  EXPECT_EQ(greedy_.requests + modest_.requests + third_.requests, 0);
  EXPECT_EQ(Fill(&modest_), 8) << "alone now";
}

TEST_F(AdmissionSharesTest, EveryoneHoldsAll) {
  EXPECT_EQ(Fill(nullptr), 16);
  EXPECT_EQ(admission_.state().refused_share, 0U);
}

TEST_F(AdmissionSharesTest, ACallerHoldsAsManyBytesAsAreLeft) {
  EXPECT_EQ(Fill(&greedy_, {.payload = 300}), 2);
  EXPECT_EQ(greedy_.bytes, 600);
  EXPECT_EQ(Fill(&modest_, {.payload = 300}), 1);
  tickets_.front().Drop(100);
  EXPECT_EQ(greedy_.bytes, 500);
  tickets_.front().Answered(50, 10);
  EXPECT_EQ(greedy_.bytes, 360);
  EXPECT_EQ(greedy_.requests, 1);
  tickets_.clear();
  EXPECT_EQ(greedy_.bytes + modest_.bytes, 0);
  // What is its only one may be larger than its share.
  EXPECT_EQ(Fill(&greedy_, {.payload = 1600}), 1);
}

TEST_F(AdmissionSharesTest, ACallerHoldsAsManyLanesAsAreLeft) {
  // Twelve of sixteen may need a lane.
  Fill(&greedy_);
  int lanes = 0;
  for (AdmissionTicket& ticket : tickets_) lanes += ticket.TakeLane().ok() ? 1 : 0;
  EXPECT_EQ(lanes, 6);
  EXPECT_FALSE(admission_.CheckLanes(&greedy_).ok());
  EXPECT_TRUE(admission_.CheckLanes(&modest_).ok());
  EXPECT_TRUE(admission_.CheckLanes().ok());
  tickets_.clear();
  EXPECT_EQ(greedy_.lane_requests, 0);
}

TEST_F(AdmissionSharesTest, AStreamIsItsCallersFromItsHeaderOn) {
  absl::StatusOr<AdmissionTicket> stream = admission_.Expect({.payload = 100}, &greedy_);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(greedy_.requests, 0);
  ASSERT_TRUE(stream->TryHold(100).ok());
  EXPECT_EQ(greedy_.bytes, 100);
  ASSERT_TRUE(admission_.Admit({.results = 8}, &*stream).ok());
  EXPECT_EQ(greedy_.requests, 1);
  EXPECT_EQ(greedy_.bytes, 108);
  stream->Release();
  EXPECT_EQ(greedy_.requests + greedy_.bytes, 0);
}

}  // namespace
}  // namespace warpfold
