// Callers that want the same workers, places and bytes: each gets its share, whatever another asks.
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
#include "server/core/admission/admission.h"
#include "server/core/base/refusal.h"
#include "server/core/scheduling/batcher.h"
#include "server/core/scheduling/device_scheduler.h"
#include "server/core/scheduling/task_queue.h"
#include "server/core/scheduling/worker_shares.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

// The lines of two callers.
const CallerUse kGreedy;
const CallerUse kModest;

// The order in which tasks end.
class Ends {
 public:
  void Note(Task::Line line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(line);
  }
  std::vector<Task::Line> Await(std::size_t count) {
    const auto has_all = [&]()
                             ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return lines_.size() == count; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_all));
    return lines_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Task::Line> lines_ ABSL_GUARDED_BY(mutex_);
};

class LineTask final : public OwnedTask {
 public:
  explicit LineTask(const CallerUse& caller, Ends* ends = nullptr,
                    absl::Notification* gate = nullptr)
      : ends_(ends), payload_(4, gate) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {4}, .ops = {Op::kSum}, .axes = {}});
    plan = &plan_;
    payload = &payload_;
    line = &caller;
  }
  FakePayload& fake_payload() { return payload_; }

  void OnDone(TaskReport report) override {
    EXPECT_TRUE(report.outcome.ok()) << report.outcome.status();
    ends_->Note(line);
  }

 private:
  Ends* const ends_;
  Plan plan_;
  FakePayload payload_;
};

// How many of the first `count` that are taken, each charged by its line, are the modest one's.
int ModestOf(TaskQueue& queue, WorkerShares& shares, int count, double greedy_cost) {
  int modest = 0;
  for (int i = 0; i < count; ++i) {
    const Task::Line line = queue.Pop().task->line;
    shares.Charge(line, line == &kModest ? 1 : greedy_cost);
    modest += line == &kModest ? 1 : 0;
  }
  return modest;
}

class TaskQueueSharesTest : public ::testing::Test {
 protected:
  void Push(const CallerUse& caller, int count) {
    for (int i = 0; i < count; ++i) queue_.Push(Queued(tasks_.emplace_back(caller)));
  }
  WorkerShares shares_;
  TaskQueue queue_{shares_};
  std::deque<LineTask> tasks_;
};

TEST_F(TaskQueueSharesTest, WhoAsksForMoreWaitsForItself) {
  Push(kGreedy, 1000);
  EXPECT_EQ(ModestOf(queue_, shares_, 500, 1), 0) << "alone";
  Push(kModest, 3);
  EXPECT_EQ(ModestOf(queue_, shares_, 6, 1), 3);
  EXPECT_EQ(ModestOf(queue_, shares_, 497, 1), 0);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(TaskQueueSharesTest, WhatTasksCostCounts) {
  Push(kGreedy, 1000);
  Push(kModest, 1000);
  const int modest = ModestOf(queue_, shares_, 1000, 9);
  EXPECT_GE(modest, 899);
  EXPECT_LE(modest, 901);
}

TEST_F(TaskQueueSharesTest, NobodySavesUpWhatItLeftToOthers) {
  Push(kGreedy, 2000);
  ModestOf(queue_, shares_, 1000, 1);
  Push(kModest, 1000);
  const int modest = ModestOf(queue_, shares_, 200, 1);
  EXPECT_GE(modest, 100);
  EXPECT_LE(modest, 101);
}

TEST_F(TaskQueueSharesTest, OneOfALineIsTakenBack) {
  Push(kGreedy, 2);
  Push(kModest, 1);
  EXPECT_TRUE(queue_.Has(&tasks_[2]));
  EXPECT_TRUE(queue_.Remove(&tasks_[2]));
  EXPECT_FALSE(queue_.Remove(&tasks_[2]));
  EXPECT_FALSE(queue_.Has(&tasks_[2]));
  EXPECT_EQ(queue_.size(), 2U);
  EXPECT_EQ(queue_.Pop().task, &tasks_[0]);
  std::vector<QueuedTask> taken;
  queue_.TakeAll(taken);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].task, &tasks_[1]);
  EXPECT_TRUE(queue_.empty());
}

TEST(WorkerSharesTest, ATurnIsChargedAsTheLastOneUntilItEnds) {
  WorkerShares shares;
  shares.End(&kGreedy, shares.Begin(&kGreedy), 5);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 5);
  const double charged = shares.Begin(&kGreedy);
  EXPECT_DOUBLE_EQ(charged, 5);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 10);
  shares.End(&kGreedy, charged, 1);
  EXPECT_DOUBLE_EQ(shares.had(&kGreedy), 6);
  EXPECT_EQ(shares.had(&kModest), 0);
}

// Callers come and go where addresses tell them apart.
TEST(WorkerSharesTest, WhoHasGoneIsForgotten) {
  WorkerShares shares;
  std::deque<CallerUse> callers(10'000);
  for (const CallerUse& caller : callers) {
    shares.Join(&caller);
    shares.Charge(&caller, 1);
    EXPECT_LE(shares.size(), 256U);
  }
  // Who is known again has had as much as the others.
  shares.Join(&callers.front());
  EXPECT_GE(shares.had(&callers.front()), shares.had(&callers.back()) - 1);
}

TEST_F(TaskQueueSharesTest, LinesOfWhoHasGoneAreForgotten) {
  Push(kGreedy, 1);
  std::deque<CallerUse> callers(1000);
  for (const CallerUse& caller : callers) {
    Push(caller, 1);
    EXPECT_TRUE(queue_.Remove(&tasks_.back()));
    EXPECT_LE(queue_.lines(), 64U);
  }
  Push(kModest, 1);
  EXPECT_TRUE(queue_.is_shared());
  EXPECT_EQ(queue_.Pop().task, &tasks_.front());
  EXPECT_EQ(queue_.Pop().task, &tasks_.back());
}

// All that wait are kept, however many they are.
TEST_F(TaskQueueSharesTest, ManyCallersWait) {
  std::deque<CallerUse> callers(1000);
  for (const CallerUse& caller : callers) Push(caller, 1);
  EXPECT_EQ(queue_.size(), 1000U);
  for (std::size_t i = 0; i < callers.size(); ++i) {
    const Task::Line line = queue_.Pop().task->line;
    EXPECT_EQ(line, &callers[i]);
    shares_.Charge(line, 1);
  }
}

TEST(BatcherSharesTest, ABatchHasBothCallers) {
  FakeDevice device;
  const BatchLimits limits{.tensors = 4, .bytes = 1 << 20};
  device.fake_batches().BatchUpTo(1 << 20, limits);
  std::vector<std::unique_ptr<BatchWorker>> workers;
  workers.push_back(*device.MakeBatchWorker());
  Batcher batcher(limits, std::move(workers));
  std::deque<LineTask> tasks;
  for (int i = 0; i < 10; ++i) batcher.Push(Queued(tasks.emplace_back(kGreedy)));
  for (int i = 0; i < 10; ++i) batcher.Push(Queued(tasks.emplace_back(kModest)));
  const std::unique_ptr<BatchRun> run = batcher.Form();
  int modest = 0;
  for (const QueuedTask& queued : run->tasks()) modest += queued.task->line == &kModest ? 1 : 0;
  EXPECT_EQ(run->tasks().size(), 4U);
  EXPECT_EQ(modest, 2);
}

TEST(DeviceSchedulerSharesTest, AModestCallersTaskIsNext) {
  FakeDevice device;
  auto scheduler = *DeviceScheduler::Create(device, {.workers = 1, .on_lost = {}, .on_batch = {}});
  Ends ends;
  absl::Notification gate;
  std::deque<LineTask> tasks;
  tasks.emplace_back(kGreedy, &ends, &gate);
  ASSERT_TRUE(scheduler->Submit(&tasks[0]).ok());
  tasks[0].fake_payload().opened().WaitForNotification();
  for (int i = 0; i < 5; ++i) tasks.emplace_back(kGreedy, &ends);
  tasks.emplace_back(kModest, &ends);
  for (std::size_t i = 1; i < tasks.size(); ++i) ASSERT_TRUE(scheduler->Submit(&tasks[i]).ok());
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

TEST_F(AdmissionSharesTest, ACallerHoldsAsManyWorkersAsAreLeft) {
  // Twelve of sixteen may need a worker.
  Fill(&greedy_);
  int workers = 0;
  for (AdmissionTicket& ticket : tickets_) workers += ticket.TakeWorker().ok() ? 1 : 0;
  EXPECT_EQ(workers, 6);
  EXPECT_FALSE(admission_.CheckWorkers(&greedy_).ok());
  EXPECT_TRUE(admission_.CheckWorkers(&modest_).ok());
  EXPECT_TRUE(admission_.CheckWorkers().ok());
  tickets_.clear();
  EXPECT_EQ(greedy_.worker_requests, 0);
}

TEST_F(AdmissionSharesTest, AQuotaTakesThePlaceOfTheShare) {
  greedy_.SetQuotas({.requests = 12, .bytes = 1200});
  modest_.SetQuotas({.requests = 2, .bytes = 100});
  EXPECT_EQ(Fill(&greedy_), 12);
  EXPECT_EQ(admission_.Admit({}, &greedy_).status().message(),
            "the caller holds its quota of requests in flight (max-requests-in-flight in the "
            "callers' file): it has 12 of 12, and asks for 1 more; answers free some");
  EXPECT_EQ(Fill(&modest_), 2);
  EXPECT_EQ(Fill(&third_), 1) << "a share of what is left";
  EXPECT_EQ(admission_.state().refused_share, 4U);
  int workers = 0;
  for (std::size_t i = 0; i < 12; ++i) workers += tickets_[i].TakeWorker().ok() ? 1 : 0;
  EXPECT_EQ(workers, 12) << "with no share of the workers";
}

TEST_F(AdmissionSharesTest, AQuotaAboveTheLimitIsTheLimit) {
  greedy_.SetQuotas({.requests = 100, .bytes = 10'000});
  EXPECT_EQ(Fill(&greedy_), 16);
  EXPECT_EQ(admission_.state().refused_requests, 1U);
  tickets_.clear();
  EXPECT_FALSE(admission_.Admit({.payload = 1601}, &greedy_).ok());
}

TEST_F(AdmissionSharesTest, WhatIsAboveAQuotaOfBytesNeverFits) {
  greedy_.SetQuotas({.bytes = 500});
  const absl::Status never = admission_.Admit({.payload = 400, .results = 101}, &greedy_).status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(never)));
  EXPECT_EQ(never.message(),
            "501 bytes in flight are above the caller's quota of 500 (max-bytes-in-flight in the "
            "callers' file)");
  EXPECT_EQ(admission_.state().refused_too_large, 1U);
  EXPECT_FALSE(admission_.Expect({.payload = 501}, &greedy_).ok());
  EXPECT_EQ(Fill(&greedy_, {.payload = 200}), 2);
  EXPECT_EQ(admission_.Admit({.payload = 200}, &greedy_).status().message(),
            "the caller holds its quota of bytes in flight (max-bytes-in-flight in the callers' "
            "file): it has 400 of 500, and asks for 200 more; answers free some");
  // What one that is in holds counts as well.
  EXPECT_TRUE(tickets_[0].TryHold(100).ok());
  const absl::Status more = tickets_[0].TryHold(1);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(more))) << more;
  const absl::Status much = tickets_[0].TryHold(501);
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(much))) << much;
  EXPECT_EQ(greedy_.bytes, 500);
  greedy_.SetQuotas({});
  EXPECT_TRUE(tickets_[0].TryHold(300).ok()) << "a share is asked for as a request comes in";
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
