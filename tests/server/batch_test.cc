// Small tasks that arrive while batches are under way go into the next one together, each with its
// own end.
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "server/core/scheduling/batch_run.h"
#include "server/core/scheduling/scheduler.h"
#include "server/device/device_error.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

using Tasks = std::vector<std::unique_ptr<FakeTask>>;

std::int64_t SumTo(std::int64_t count) { return count * (count + 1) / 2; }

// A device whose batches wait for a gate, and a scheduler for it.
class BatchTest : public ::testing::Test {
 protected:
  ~BatchTest() override { Release(); }

  void Start(const BatchLimits& limits, int workers = 3, int queue_depth_max = 1 << 20,
             int batch_workers = kBatchWorkers) {
    device_.fake_batches().BatchUpTo(1 << 20, limits);
    device_.fake_batches().Hold(&gate_);
    scheduler_ = *DeviceScheduler::Create(device_, {.workers = workers,
                                                    .batch_workers = batch_workers,
                                                    .queue_depth_max = queue_depth_max,
                                                    .on_lost = {},
                                                    .on_batch = [this](int requests) {
                                                      absl::MutexLock lock(&mutex_);
                                                      told_.push_back(requests);
                                                    }});
  }

  // Fills `count` batch workers, each with a task of its own, which hold until Release.
  void HoldBatchWorkers(int count) {
    for (int i = 0; i < count; ++i) Submit(held_, 4);
    EXPECT_EQ(device_.fake_batches().sizes(), std::vector<int>(static_cast<std::size_t>(count), 1));
  }
  void Release() {
    if (!gate_.HasBeenNotified()) gate_.Notify();
  }

  FakeTask& Submit(Tasks& tasks, std::int64_t count) {
    tasks.push_back(std::make_unique<FakeTask>(count));
    EXPECT_TRUE(scheduler_->Submit(tasks.back().get()).ok());
    return *tasks.back();
  }
  std::vector<int> BatchesAfterThoseHeld() {
    std::vector<int> batches = device_.fake_batches().sizes();
    batches.erase(batches.begin(), batches.begin() + static_cast<std::ptrdiff_t>(held_.size()));
    return batches;
  }

  // What on_batch was called with.
  std::vector<int> Told() {
    absl::MutexLock lock(&mutex_);
    return told_;
  }

  FakeDevice device_;
  absl::Notification gate_;
  absl::Mutex mutex_;
  std::vector<int> told_ ABSL_GUARDED_BY(mutex_);
  Tasks held_;
  std::unique_ptr<DeviceScheduler> scheduler_;
};

TEST_F(BatchTest, ALoneTaskRunsAtOnceOnTheThreadThatBringsIt) {
  Start({.tensors = 8, .bytes = 1 << 20});
  gate_.Notify();
  for (int i = 0; i < 3; ++i) {
    FakeTask task(4);
    ASSERT_TRUE(scheduler_->Submit(&task).ok());
    ASSERT_TRUE(task.is_done());
    EXPECT_EQ(task.done_by(), std::this_thread::get_id());
    EXPECT_EQ(Sum(task.Await()), 10);
    EXPECT_EQ(task.Await().device->name, "fake:0");
  }
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(Told(), device_.fake_batches().sizes());
}

TEST_F(BatchTest, WhatArrivesWhileTheDeviceIsBusyGoesTogether) {
  Start({.tensors = 100, .bytes = 1 << 20}, /*workers=*/1);
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  for (int i = 0; i < 20; ++i) Submit(tasks, i);
  EXPECT_EQ(scheduler_->state().queued, 20);
  Release();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(Sum(tasks[static_cast<std::size_t>(i)]->Await()), SumTo(i));
  EXPECT_EQ(BatchesAfterThoseHeld(), (std::vector<int>{20}));
  EXPECT_EQ(Told(), device_.fake_batches().sizes());
}

// Also where every worker is taken, and nobody submits any more.
TEST_F(BatchTest, AWorkerThatComesBackTakesWhatWaits) {
  Start({.tensors = 3, .bytes = 1 << 20}, /*workers=*/1, 1 << 20, /*batch_workers=*/1);
  absl::Notification stream_gate;
  FakeTask stream(4, &stream_gate, /*is_sending=*/true);
  ASSERT_TRUE(scheduler_->Submit(&stream).ok());
  stream.fake_payload().opened().WaitForNotification();
  HoldBatchWorkers(1);
  Tasks tasks;
  for (int i = 0; i < 4; ++i) Submit(tasks, i);
  Release();
  for (const auto& task : tasks) task->Await();
  EXPECT_EQ(BatchesAfterThoseHeld(), (std::vector<int>{3, 1})) << "those that waited longest";
  stream_gate.Notify();
  stream.Await();
}

TEST_F(BatchTest, SubmitDoesNotWaitForABatchThatDoesNotEnd) {
  Start({.tensors = 3, .bytes = 1 << 20});
  FakeTask task;
  ASSERT_TRUE(scheduler_->Submit(&task).ok());
  EXPECT_FALSE(task.is_done());
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{1})) << "not launched";
  Release();
  EXPECT_EQ(Sum(task.Await()), 10);
  EXPECT_NE(task.done_by(), std::this_thread::get_id());
}

TEST_F(BatchTest, WhatWaitsInTheEndIsInNoBatch) {
  Start({.tensors = 3, .bytes = 1 << 20}, /*workers=*/1);
  gate_.Notify();
  FakeTask task(4);
  task.done_waits = true;
  ASSERT_TRUE(scheduler_->Submit(&task).ok());
  EXPECT_EQ(Sum(task.Await()), 10);
  EXPECT_NE(task.done_by(), std::this_thread::get_id());
  EXPECT_TRUE(device_.fake_batches().sizes().empty());
}

TEST_F(BatchTest, WhoHasMoreToBringLeavesAnIdleDeviceToAnotherThread) {
  Start({.tensors = 3, .bytes = 1 << 20}, /*workers=*/1);
  gate_.Notify();
  FakeTask left(4);
  left.is_pipelined_stream = true;
  ASSERT_TRUE(scheduler_->Submit(&left).ok());
  EXPECT_EQ(Sum(left.Await()), 10);
  EXPECT_NE(left.done_by(), std::this_thread::get_id());
}

TEST_F(BatchTest, WhoHasMoreToBringLaunchesABatchBesideAnotherAndGoesOn) {
  Start({.tensors = 3, .bytes = 1 << 20});
  HoldBatchWorkers(1);
  FakeTask next(4);
  next.is_pipelined_stream = true;
  ASSERT_TRUE(scheduler_->Submit(&next).ok());
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{1, 1})) << "not launched";
  EXPECT_FALSE(next.is_done());
  Release();
  EXPECT_EQ(Sum(next.Await()), 10);
}

// Batches on two workers are launched in either order: here there is one.
TEST_F(BatchTest, ABatchHoldsNoMoreThanTheLimits) {
  Start({.tensors = 6, .bytes = 100}, /*workers=*/1, 1 << 20, /*batch_workers=*/1);
  HoldBatchWorkers(1);
  Tasks tasks;
  for (const int count : {1, 1, 1, 1, 1, 1, 1, 8, 4, 1, 30, 1}) Submit(tasks, count);
  Release();
  for (const auto& task : tasks) task->Await();
  // Six of one element; 1 + 8 elements are 72 bytes, 4 more are too many; 4 + 1; 30 are too many
  // beside anything; 1.
  EXPECT_EQ(BatchesAfterThoseHeld(), (std::vector<int>{6, 2, 2, 1, 1}));
  EXPECT_EQ(Told(), device_.fake_batches().sizes()) << "the worker had to cut what it was given";
}

TEST_F(BatchTest, OthersPassABatchThatWaits) {
  Start({.tensors = 6, .bytes = 1 << 20}, /*workers=*/1);
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  FakeTask& batched = Submit(tasks, 4);
  FakeTask stream(4, nullptr, /*is_sending=*/true);
  ASSERT_TRUE(scheduler_->Submit(&stream).ok());
  EXPECT_EQ(Sum(stream.Await()), 10);
  EXPECT_FALSE(batched.is_done());
  Release();
  EXPECT_EQ(Sum(batched.Await()), 10);
}

TEST_F(BatchTest, OneThatFailsFailsAlone) {
  Start({.tensors = 100, .bytes = 1 << 20}, /*workers=*/1);
  device_.fake_batches().FailSum(SumTo(5), absl::OutOfRangeError("too large"));
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  for (int i = 3; i < 8; ++i) {
    tasks.push_back(std::make_unique<FakeTask>(i));
    if (i == 4) tasks.back()->fake_payload().FailRead(absl::InternalError("no bytes"));
    ASSERT_TRUE(scheduler_->Submit(tasks.back().get()).ok());
    if (i == 6) tasks.back()->Cancel();
  }
  Release();
  EXPECT_EQ(Sum(tasks[0]->Await()), SumTo(3));
  EXPECT_EQ(tasks[1]->Await().outcome.status().message(), "no bytes");
  EXPECT_EQ(tasks[2]->Await().outcome.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(tasks[3]->Await().outcome.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Sum(tasks[4]->Await()), SumTo(7));
  EXPECT_EQ(scheduler_->state().devices_lost, 0);
  EXPECT_EQ(scheduler_->state().load(), 0);
}

TEST_F(BatchTest, AWithdrawnTaskIsNotInTheBatch) {
  Start({.tensors = 100, .bytes = 1 << 20}, /*workers=*/1);
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  for (int i = 0; i < 4; ++i) Submit(tasks, i);
  EXPECT_TRUE(scheduler_->Withdraw(tasks[1].get()));
  Release();
  for (const std::size_t i : {0, 2, 3}) tasks[i]->Await();
  EXPECT_EQ(BatchesAfterThoseHeld(), (std::vector<int>{3}));
  EXPECT_FALSE(tasks[1]->is_done());
  FakeTask after;
  ASSERT_TRUE(scheduler_->Submit(&after).ok());
  EXPECT_TRUE(after.is_done()) << "the withdrawn task is still waited for";
}

TEST_F(BatchTest, ALostDeviceEndsTheBatchAndWhatWaits) {
  Start({.tensors = 2, .bytes = 1 << 20}, /*workers=*/1, /*queue_depth_max=*/10,
        /*batch_workers=*/1);
  device_.fake_batches().FailSum(SumTo(5), DeviceLostError("gone"));
  HoldBatchWorkers(1);
  Tasks tasks;
  for (const int count : {5, 4, 3}) Submit(tasks, count);
  Release();
  EXPECT_EQ(tasks[0]->Await().outcome.status().message(), "gone");
  EXPECT_EQ(Sum(tasks[1]->Await()), SumTo(4));
  EXPECT_EQ(tasks[2]->Await().outcome.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(scheduler_->state().devices_lost, 1);
  EXPECT_EQ(scheduler_->state().load(), 0);
}

TEST_F(BatchTest, DrainingFinishesWhatWaitsForABatchWorker) {
  Start({.tensors = 2, .bytes = 1 << 20}, /*workers=*/2);
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  for (int i = 0; i < 5; ++i) Submit(tasks, i);
  scheduler_->Drain();
  // The workers' threads have had their chance to leave once this one is refused.
  FakeTask late;
  EXPECT_EQ(scheduler_->Submit(&late).code(), absl::StatusCode::kUnavailable);
  Release();
  scheduler_ = nullptr;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(tasks[static_cast<std::size_t>(i)]->is_done());
    EXPECT_EQ(Sum(tasks[static_cast<std::size_t>(i)]->Await()), SumTo(i));
  }
}

// Threads that stay because something waits for a batch worker leave when another takes it.
TEST_F(BatchTest, DrainingLeavesNoThreadAsleep) {
  Start({.tensors = 100, .bytes = 1 << 20}, /*workers=*/6);
  Tasks tasks;
  const auto submit = [&tasks](DeviceScheduler& scheduler) {
    tasks.push_back(std::make_unique<FakeTask>());
    tasks.back()->LeaveToWorkers();
    return scheduler.Submit(tasks.back().get());
  };
  for (int i = 0; i < kBatchWorkers; ++i) {
    ASSERT_TRUE(submit(*scheduler_).ok());
    device_.fake_batches().Await(static_cast<std::size_t>(i) + 1);
  }
  ASSERT_TRUE(submit(*scheduler_).ok());
  DeviceScheduler& scheduler = *scheduler_;  // there until the gate opens
  std::jthread destroyer([owned = std::move(scheduler_)]() mutable { owned = nullptr; });
  while (submit(scheduler).ok()) {
  }
  tasks.pop_back();
  // For the threads to see that something still waits; the less of them do, the less is tested.
  for (int i = 0; i < 10000; ++i) std::this_thread::yield();
  gate_.Notify();
  destroyer.join();
  for (const auto& task : tasks) EXPECT_EQ(Sum(task->Await()), 10);
}

TEST_F(BatchTest, TheQueuesLimitCountsWhatWaitsForABatch) {
  Start({.tensors = 100, .bytes = 1 << 20}, /*workers=*/1, /*queue_depth_max=*/2);
  HoldBatchWorkers(kBatchWorkers);
  Tasks tasks;
  for (int i = 0; i < 2; ++i) Submit(tasks, i);
  FakeTask refused;
  EXPECT_EQ(scheduler_->Submit(&refused).code(), absl::StatusCode::kResourceExhausted);
  Release();
  for (const auto& task : tasks) task->Await();
}

TEST_F(BatchTest, ManySubmittersLoseNothing) {
  Start({.tensors = 7, .bytes = 300}, /*workers=*/4);
  gate_.Notify();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      Tasks tasks;
      std::vector<std::int64_t> counts;
      for (int i = 0; i < 500; ++i) {
        counts.push_back(static_cast<std::int64_t>(random() % 20));
        tasks.push_back(std::make_unique<FakeTask>(counts.back(), nullptr, i % 11 == 0));
        ASSERT_TRUE(scheduler_->Submit(tasks.back().get()).ok());
        if (i % 5 == 0 && scheduler_->Withdraw(tasks.back().get())) {
          tasks.pop_back();
          counts.pop_back();
        }
      }
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        EXPECT_EQ(Sum(tasks[i]->Await()), SumTo(counts[i]));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(scheduler_->state().load(), 0);
}

class BatchRunTest : public ::testing::Test {
 protected:
  BatchRunTest() {
    device_.fake_batches().BatchUpTo(1 << 20, {.tensors = 3, .bytes = 1 << 20});
    worker_ = *device_.MakeBatchWorker();
  }
  // Of tasks of 0, 1, ... `count` - 1 elements.
  BatchRun RunOf(int count) {
    std::vector<QueuedTask> queued;
    for (int i = 0; i < count; ++i) {
      tasks_.push_back(std::make_unique<FakeTask>(i));
      queued.push_back({tasks_.back().get(), std::chrono::steady_clock::now()});
    }
    return BatchRun(*worker_, std::move(queued));
  }

  FakeDevice device_;
  std::unique_ptr<BatchWorker> worker_;
  Tasks tasks_;
};

// A worker that takes fewer than it is given.
TEST_F(BatchRunTest, WhatDoesNotFitGoesIntoTheNextBatch) {
  BatchRun run = RunOf(8);
  run.RunToEnd();
  const std::vector<TaskReport> reports = run.TakeReports();
  ASSERT_EQ(reports.size(), 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Sum(reports[static_cast<std::size_t>(i)]), SumTo(i));
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{3, 3, 2}));
}

TEST_F(BatchRunTest, GoesOnWhereItsTimeEnded) {
  absl::Notification gate;
  device_.fake_batches().Hold(&gate);
  BatchRun run = RunOf(5);
  EXPECT_FALSE(run.Run(BatchRun::Clock::time_point::min()));
  EXPECT_FALSE(run.Run(BatchRun::Clock::time_point::min()));
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{3})) << "launched again";
  gate.Notify();
  EXPECT_TRUE(run.Run(BatchRun::Clock::time_point::min()));
  const std::vector<TaskReport> reports = run.TakeReports();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Sum(reports[static_cast<std::size_t>(i)]), SumTo(i));
  EXPECT_EQ(device_.fake_batches().sizes(), (std::vector<int>{3, 2}));
}

TEST_F(BatchRunTest, TasksThatAllFailLaunchNothing) {
  BatchRun run = RunOf(2);
  tasks_[0]->Cancel();
  tasks_[1]->fake_payload().FailRead(absl::InternalError("no bytes"));
  EXPECT_TRUE(run.Run(BatchRun::Clock::time_point::min()));
  const std::vector<TaskReport> reports = run.TakeReports();
  EXPECT_TRUE(absl::IsCancelled(reports[0].outcome.status()));
  EXPECT_TRUE(absl::IsInternal(reports[1].outcome.status()));
  EXPECT_TRUE(device_.fake_batches().sizes().empty());
}

}  // namespace
}  // namespace warpfold
