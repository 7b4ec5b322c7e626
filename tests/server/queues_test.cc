// The parts of a device's scheduler, each alone, against a plain model: random schedules of push,
// take, remove, drain and loss, in which every task ends once.
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/scheduling/batch_completer.h"
#include "server/core/scheduling/batcher.h"
#include "server/core/scheduling/device_scheduler.h"
#include "server/core/scheduling/task_queue.h"
#include "server/device/device_error.h"
#include "tests/kernels/effort.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

TEST(TaskQueueTest, IsAModelsDequeUnderAnySchedule) {
  constexpr unsigned kSeed = 1;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::deque<FakeTask> tasks(64);
  WorkerShares shares;
  TaskQueue queue(shares);
  std::deque<Task*> model;
  for (int step = 0; step < 1'000'000; ++step) {
    FakeTask& task = tasks[random() % tasks.size()];
    const auto place = std::find(model.begin(), model.end(), &task);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        if (place != model.end()) break;
        queue.Push({&task, {}});
        model.push_back(&task);
        break;
      case 3:
      case 4:
        if (model.empty()) break;
        ASSERT_EQ(queue.front().task, model.front());
        ASSERT_EQ(queue.Pop().task, model.front());
        model.pop_front();
        break;
      case 5:
      case 6:
        ASSERT_EQ(queue.Remove(&task), place != model.end());
        if (place != model.end()) model.erase(place);
        break;
      default:
        if (random() % 1000 != 0) break;
        std::vector<QueuedTask> taken;
        queue.TakeAll(taken);
        ASSERT_EQ(taken.size(), model.size());
        for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i].task, model[i]);
        model.clear();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
  }
}

TEST(BatcherTest, FormsTheOldestUpToItsLimitsWhileAWorkerIsFree) {
  constexpr unsigned kSeed = 2;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  FakeDevice device;
  const BatchLimits limits{.tensors = 5, .bytes = 100};
  device.fake_batches().BatchUpTo(1 << 20, limits);
  std::vector<std::unique_ptr<BatchWorker>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(*device.MakeBatchWorker());
  Batcher batcher(limits, std::move(workers));
  std::deque<FakeTask> tasks;
  for (int i = 0; i < 40; ++i) tasks.emplace_back(i % 17);
  std::deque<FakeTask*> model;
  std::vector<std::unique_ptr<BatchRun>> runs;
  std::set<const Task*> running;
  for (int step = 0; step < 1'000'000; ++step) {
    FakeTask& task = tasks[random() % tasks.size()];
    const auto place = std::find(model.begin(), model.end(), &task);
    switch (random() % 4) {
      case 0:
      case 1:
        if (place != model.end() || running.count(&task) > 0) break;
        batcher.Push({&task, {}});
        model.push_back(&task);
        break;
      case 2:
        ASSERT_EQ(batcher.Remove(&task), place != model.end());
        if (place != model.end()) model.erase(place);
        break;
      default:
        if (runs.empty()) break;
        std::swap(runs[random() % runs.size()], runs.back());
        for (const QueuedTask& queued : runs.back()->tasks()) running.erase(queued.task);
        batcher.GiveBack(runs.back()->worker());
        runs.pop_back();
    }
    std::unique_ptr<BatchRun> run = batcher.Form();
    ASSERT_EQ(run == nullptr, model.empty() || runs.size() == 3);
    if (run != nullptr) {
      std::size_t bytes = 0;
      for (const QueuedTask& queued : run->tasks()) {
        ASSERT_EQ(queued.task, model.front());
        model.pop_front();
        running.insert(queued.task);
        bytes += static_cast<std::size_t>(queued.task->plan->input_bytes);
      }
      ASSERT_LE(run->tasks().size(), 5U);
      ASSERT_TRUE(bytes <= limits.bytes || run->tasks().size() == 1);
      const bool is_full =
          run->tasks().size() == 5 || model.empty() ||
          bytes + static_cast<std::size_t>(model.front()->plan->input_bytes) > limits.bytes;
      ASSERT_TRUE(is_full) << "it left one that fits";
      runs.push_back(std::move(run));
    }
    ASSERT_EQ(batcher.waiting(), model.size());
    ASSERT_EQ(batcher.is_idle(), runs.empty());
    ASSERT_EQ(batcher.has_free_worker(), runs.size() < 3);
  }
}

TEST(BatchCompleterTest, EveryBatchEndsOnceThoughTheCompleterEnds) {
  FakeDevice device;
  device.fake_batches().BatchUpTo(1 << 20, {.tensors = 4, .bytes = 1 << 20});
  std::vector<std::unique_ptr<BatchWorker>> workers;
  std::deque<FakeTask> tasks;
  absl::Notification gate;
  device.fake_batches().Hold(&gate);
  std::atomic<int> ends{0};
  {
    BatchCompleter completer(
        2, std::chrono::microseconds(20), [] { return nullptr; },
        [&](std::unique_ptr<BatchRun> run) {
          ASSERT_EQ(run->TakeReports().size(), 2U);
          ends.fetch_add(1);
        });
    for (int i = 0; i < 40; ++i) {
      workers.push_back(*device.MakeBatchWorker());
      std::vector<QueuedTask> queued;
      for (int k = 0; k < 2; ++k) queued.push_back(Queued(tasks.emplace_back()));
      auto run = std::make_unique<BatchRun>(*workers.back(), std::move(queued));
      if (i % 2 == 0) {
        EXPECT_FALSE(run->Run(Clock::time_point::min()));
      }
      completer.Hand(std::move(run));
    }
    EXPECT_EQ(ends, 0);
    gate.Notify();
  }
  EXPECT_EQ(ends, 40);
}

// Submitters, a canceller, a device that is lost, a drain: in every round another mix.
TEST(DeviceSchedulerScheduleTest, EveryTaskEndsOnce) {
  constexpr unsigned kSeed = 4;
  constexpr int kThreads = 3;
  constexpr int kTasks = 40;
  for (unsigned round = 0; round < 300; ++round) {
    SCOPED_TRACE(kSeed + round);
    std::mt19937 random(kSeed + round);
    FakeDevice device;
    device.fake_batches().BatchUpTo(24, {.tensors = 3, .bytes = 60});
    if (round % 3 == 0) device.fake_batches().FailSum(3, DeviceLostError("gone"));
    auto scheduler = *DeviceScheduler::Create(
        device, {.workers = 2,
                 .batch_workers = 2,
                 .queue_depth_max = round % 4 == 0 ? 4 : 1 << 20,
                 .spin_max = std::chrono::microseconds(round % 2 * 50),
                 .caller_wait_max = std::chrono::microseconds(round % 5 == 0 ? 0 : 50)});
    std::deque<CountedTask> tasks;
    for (int i = 0; i < kThreads * kTasks; ++i) {
      tasks.emplace_back(random() % 6, random() % 4 == 0, random() % 3 == 0);
    }
    std::vector<char> accepted(tasks.size(), 0);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, seed = random()] {
        std::mt19937 own(seed);
        for (std::size_t i = t * kTasks; i < (t + 1) * kTasks; ++i) {
          if (!scheduler->Submit(&tasks[i]).ok()) continue;
          accepted[i] = own() % 4 != 0 || !scheduler->Withdraw(&tasks[i]);
        }
      });
    }
    if (round % 7 == 0) scheduler->Drain();
    if (round % 6 == 1) scheduler->Lose(DeviceLostError("pulled out"));
    threads.clear();
    scheduler = nullptr;
    for (std::size_t i = 0; i < tasks.size(); ++i) ASSERT_EQ(tasks[i].ends(), accepted[i]);
  }
}

}  // namespace
}  // namespace warpfold
