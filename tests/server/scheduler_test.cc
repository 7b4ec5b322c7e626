#include "server/core/scheduling/scheduler.h"

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/base/refusal.h"
#include "server/device/device_error.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

std::unique_ptr<DeviceScheduler> Make(FakeDevice& device, int workers, int queue_depth_max = 100) {
  absl::StatusOr<std::unique_ptr<DeviceScheduler>> scheduler =
      DeviceScheduler::Create(device, {.workers = workers, .queue_depth_max = queue_depth_max});
  EXPECT_TRUE(scheduler.ok());
  return *std::move(scheduler);
}

TEST(DeviceSchedulerTest, TaskIsReducedAndReportedOnceWithItsDevice) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  FakeTask task(100);  // several staging buffers of 64 bytes
  ASSERT_TRUE(scheduler->Submit(&task).ok());
  EXPECT_EQ(Sum(task.Await()), 5050);
  EXPECT_EQ(task.Await().device->name, "fake:0");
}

TEST(DeviceSchedulerTest, TimesAreOfTheQueueAndOfTheSender) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  absl::Notification gate;
  FakeTask slow(4, &gate);
  FakeTask queued;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(scheduler->Submit(&slow).ok());
  slow.fake_payload().opened().WaitForNotification();
  ASSERT_TRUE(scheduler->Submit(&queued).ok());
  const auto held = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {  // time passes, and both wait
    FakeTask other;
    ASSERT_TRUE(scheduler->Submit(&other).ok());
    ASSERT_TRUE(scheduler->Withdraw(&other));
  }
  const auto waited = std::chrono::steady_clock::now() - held;
  gate.Notify();
  const TaskReport& of_slow = slow.Await();
  const TaskReport& of_queued = queued.Await();
  const auto wall = std::chrono::steady_clock::now() - start;
  // The one waited for its sender, the other for the worker, for as long as the gate was shut.
  EXPECT_GE(of_slow.receive, waited);
  EXPECT_GE(of_queued.queue, waited);
  EXPECT_LE(of_slow.queue + of_slow.receive, wall);
  EXPECT_LE(of_queued.queue + of_queued.receive, wall);
}

TEST(DeviceSchedulerTest, TaskWithoutBytesIsFinishedToo) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  FakeTask task(0);
  ASSERT_TRUE(scheduler->Submit(&task).ok());
  EXPECT_EQ(Sum(task.Await()), 0);
}

TEST(DeviceSchedulerTest, SmallTaskIsDoneByTheThreadThatBringsIt) {
  FakeDevice device;
  device.RunInlineUpTo(32);
  const auto scheduler = Make(device, 1);
  FakeTask small(4);  // 32 bytes
  ASSERT_TRUE(scheduler->Submit(&small).ok());
  ASSERT_TRUE(small.is_done());
  EXPECT_EQ(small.done_by(), std::this_thread::get_id());
  EXPECT_EQ(Sum(small.Await()), 10);
  EXPECT_EQ(scheduler->state().workers_in_use, 0);

  FakeTask large(5);
  FakeTask slow(4, nullptr, /*is_sending=*/true);
  FakeTask waits_in_the_end(4);
  waits_in_the_end.done_waits = true;
  for (FakeTask* task : {&large, &slow, &waits_in_the_end}) {
    ASSERT_TRUE(scheduler->Submit(task).ok());
    task->Await();
    EXPECT_NE(task->done_by(), std::this_thread::get_id());
  }
}

TEST(DeviceSchedulerTest, SmallTaskQueuesWhenItsWorkersAreBusyAndIsRefusedWhileDraining) {
  FakeDevice device;
  device.RunInlineUpTo(32);
  const auto scheduler = Make(device, 1);
  absl::Notification gate;
  FakeTask held(4, &gate);
  std::thread holder([&] { EXPECT_TRUE(scheduler->Submit(&held).ok()); });
  held.fake_payload().opened().WaitForNotification();
  FakeTask queued(4);
  ASSERT_TRUE(scheduler->Submit(&queued).ok());
  EXPECT_EQ(Sum(queued.Await()), 10);
  EXPECT_NE(queued.done_by(), std::this_thread::get_id());
  gate.Notify();
  holder.join();

  FakeTask again(4);
  ASSERT_TRUE(scheduler->Submit(&again).ok());
  EXPECT_EQ(again.done_by(), std::this_thread::get_id()) << "the worker was not given back";
  scheduler->Drain();
  FakeTask late(4);
  EXPECT_EQ(scheduler->Submit(&late).code(), absl::StatusCode::kUnavailable);
}

TEST(DeviceSchedulerTest, FullQueueRefusesAtOnceAndMayRetry) {
  FakeDevice device;
  const auto scheduler = Make(device, 1, 2);
  absl::Notification gate;
  FakeTask running(4, &gate);
  FakeTask queued[2];
  FakeTask refused;
  ASSERT_TRUE(scheduler->Submit(&running).ok());
  running.fake_payload().opened().WaitForNotification();
  for (FakeTask& task : queued) ASSERT_TRUE(scheduler->Submit(&task).ok());
  const absl::Status status = scheduler->Submit(&refused);
  ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status)));
  EXPECT_EQ(scheduler->state().refused_queue, 1U);
  EXPECT_EQ(scheduler->state().queued, 2);
  gate.Notify();
  for (FakeTask& task : queued) task.Await();
  EXPECT_FALSE(refused.is_done());
}

TEST(DeviceSchedulerTest, TasksThatWaitForAWorkerFillNoQueueOfBatches) {
  FakeDevice device;
  absl::Notification gate;
  device.fake_batches().BatchUpTo(1 << 20, {.tensors = 100, .bytes = 1 << 20});
  device.fake_batches().Hold(&gate);
  const auto scheduler = Make(device, 1, 2);
  std::deque<FakeTask> streams;
  for (int i = 0; i < 3; ++i) {
    streams.emplace_back(4, &gate, /*is_sending=*/true);
    ASSERT_TRUE(scheduler->Submit(&streams.back()).ok());
    if (i == 0) streams[0].fake_payload().opened().WaitForNotification();
  }
  std::deque<FakeTask> batched(kBatchWorkers + 2);
  std::vector<FakeTask*> accepted;
  for (FakeTask& task : batched) {
    if (scheduler->Submit(&task).ok()) accepted.push_back(&task);
  }
  EXPECT_EQ(accepted.size(), batched.size());
  EXPECT_EQ(scheduler->state().queued, 4);
  gate.Notify();
  for (FakeTask& task : streams) EXPECT_EQ(Sum(task.Await()), 10);
  for (FakeTask* const task : accepted) EXPECT_EQ(Sum(task->Await()), 10);
}

TEST(DeviceSchedulerTest, TaskThatMayNotQueueRunsInlineOrNotAtAll) {
  FakeDevice device;
  device.RunInlineUpTo(32);
  const auto scheduler = Make(device, 1);
  FakeTask small(4);
  FakeTask large(5);
  for (FakeTask* task : {&small, &large}) task->RefuseToQueue();
  ASSERT_TRUE(scheduler->Submit(&small).ok());
  EXPECT_EQ(Sum(small.Await()), 10);
  EXPECT_EQ(scheduler->Submit(&large), absl::ResourceExhaustedError("too many"));
  EXPECT_EQ(scheduler->state().queued, 0);
  EXPECT_FALSE(scheduler->Withdraw(&large));
}

TEST(DeviceSchedulerTest, WithdrawnTaskNeverRunsAndRunningTaskCannotBeWithdrawn) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  absl::Notification gate;
  FakeTask running(4, &gate);
  FakeTask queued;
  ASSERT_TRUE(scheduler->Submit(&running).ok());
  running.fake_payload().opened().WaitForNotification();
  ASSERT_TRUE(scheduler->Submit(&queued).ok());
  EXPECT_TRUE(scheduler->Withdraw(&queued));
  EXPECT_FALSE(scheduler->Withdraw(&queued));
  EXPECT_FALSE(scheduler->Withdraw(&running));
  gate.Notify();
  running.Await();
  EXPECT_FALSE(queued.is_done());
  EXPECT_EQ(device.counts().begun, 1);
}

TEST(DeviceSchedulerTest, CancelledTaskIsDroppedBeforeItReachesTheDevice) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  absl::Notification gate;
  FakeTask running(4, &gate);
  FakeTask cancelled;
  ASSERT_TRUE(scheduler->Submit(&running).ok());
  running.fake_payload().opened().WaitForNotification();
  ASSERT_TRUE(scheduler->Submit(&cancelled).ok());
  cancelled.Cancel();
  gate.Notify();
  EXPECT_EQ(cancelled.Await().outcome.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(device.counts().begun, 1);
}

TEST(DeviceSchedulerTest, WhatNobodyWantsAnyMoreIsNotQueued) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  FakeTask task;
  task.Cancel();
  EXPECT_EQ(scheduler->Submit(&task).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(scheduler->state().load(), 0);
  EXPECT_FALSE(task.is_done());
}

TEST(DeviceSchedulerTest, CancellationBetweenBuffersAbandonsTheWorkerForTheNext) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  absl::Notification gate;
  FakeTask task(100, &gate);
  ASSERT_TRUE(scheduler->Submit(&task).ok());
  task.fake_payload().opened().WaitForNotification();
  task.Cancel();
  gate.Notify();
  EXPECT_EQ(task.Await().outcome.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(device.counts().abandoned, 1);
  FakeTask next;
  ASSERT_TRUE(scheduler->Submit(&next).ok());
  EXPECT_EQ(Sum(next.Await()), 10);
}

TEST(DeviceSchedulerTest, AFailedReadAbandonsTheWorkerAndKeepsItsStatus) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  FakeTask task;
  task.fake_payload().FailRead(absl::InvalidArgumentError("chunk: short"));
  ASSERT_TRUE(scheduler->Submit(&task).ok());
  EXPECT_EQ(task.Await().outcome.status(), absl::InvalidArgumentError("chunk: short"));
  EXPECT_EQ(device.counts().abandoned, 1);
}

TEST(DeviceSchedulerTest, AFailedBeginNeverOpensThePayload) {
  FakeDevice device;
  const auto scheduler = Make(device, 1);
  device.FailBegin(absl::ResourceExhaustedError("scratch"));
  FakeTask task;
  ASSERT_TRUE(scheduler->Submit(&task).ok());
  const absl::Status status = task.Await().outcome.status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status)));
  EXPECT_FALSE(task.fake_payload().opened().HasBeenNotified());
}

TEST(DeviceSchedulerTest, SlowSendersLeaveAWorkerForWholeRequests) {
  FakeDevice device;
  const auto scheduler = Make(device, 4);
  absl::Notification gate;
  std::vector<std::unique_ptr<FakeTask>> slow;
  for (int i = 0; i < 5; ++i) {
    slow.push_back(std::make_unique<FakeTask>(4, &gate, /*is_sending=*/true));
    ASSERT_TRUE(scheduler->Submit(slow.back().get()).ok());
  }
  FakeTask whole;
  ASSERT_TRUE(scheduler->Submit(&whole).ok());
  EXPECT_EQ(Sum(whole.Await()), 10);
  EXPECT_EQ(scheduler->state().queued, 2);
  gate.Notify();
  for (const auto& task : slow) EXPECT_EQ(Sum(task->Await()), 10);
}

TEST(DeviceSchedulerTest, DrainFinishesWhatWasAcceptedAndTakesNothingMore) {
  FakeDevice device;
  auto scheduler = Make(device, 2);
  absl::Notification gate;
  std::vector<std::unique_ptr<FakeTask>> accepted;
  for (int i = 0; i < 8; ++i) {
    accepted.push_back(std::make_unique<FakeTask>(4, &gate, i % 2 == 0));
    ASSERT_TRUE(scheduler->Submit(accepted.back().get()).ok());
  }
  scheduler->Drain();
  FakeTask late;
  EXPECT_EQ(scheduler->Submit(&late).code(), absl::StatusCode::kUnavailable);
  gate.Notify();
  scheduler = nullptr;
  for (const auto& task : accepted) {
    ASSERT_TRUE(task->is_done());
    EXPECT_EQ(Sum(task->Await()), 10);
  }
}

TEST(DeviceSchedulerTest, ManySubmittersAndCancellersLoseNothing) {
  FakeDevice device;
  const auto scheduler = Make(device, 4, 1 << 20);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&scheduler, t] {
      std::vector<std::unique_ptr<FakeTask>> tasks;
      for (int i = 0; i < 500; ++i) {
        tasks.push_back(std::make_unique<FakeTask>(4, nullptr, (i + t) % 3 == 0));
        ASSERT_TRUE(scheduler->Submit(tasks.back().get()).ok());
        if (i % 5 == 0 && scheduler->Withdraw(tasks.back().get())) tasks.pop_back();
      }
      for (const auto& task : tasks) EXPECT_EQ(Sum(task->Await()), 10);
    });
  }
  threads.clear();
  EXPECT_EQ(scheduler->state().load(), 0);
}

TEST(SchedulerTest, TaskGoesToTheLeastLoadedDevice) {
  std::vector<std::unique_ptr<Executor>> devices;
  devices.push_back(std::make_unique<FakeDevice>("fake:0"));
  devices.push_back(std::make_unique<FakeDevice>("fake:1"));
  auto scheduler = Scheduler::Create(devices, {.workers = 1, .queue_depth_max = 10});
  ASSERT_TRUE(scheduler.ok());
  absl::Notification gate;
  FakeTask first(4, &gate);
  FakeTask second(4, &gate);
  ASSERT_TRUE((*scheduler)->Submit(&first).ok());
  ASSERT_TRUE((*scheduler)->Submit(&second).ok());
  first.fake_payload().opened().WaitForNotification();
  second.fake_payload().opened().WaitForNotification();  // both run: on two devices
  EXPECT_EQ((*scheduler)->state().workers_in_use, 2);
  FakeTask third;
  ASSERT_TRUE((*scheduler)->Submit(&third).ok());
  EXPECT_TRUE((*scheduler)->Withdraw(&third));
  gate.Notify();
  EXPECT_NE(first.Await().device->name, second.Await().device->name);
}

TEST(SchedulerTest, NoDeviceIsAnError) { EXPECT_FALSE(Scheduler::Create({}, {}).ok()); }

TEST(DeviceSchedulerTest, ALostDeviceAnswersWhatWaitsTakesNothingMoreAndTellsOnce) {
  FakeDevice device;
  int told = 0;
  const auto scheduler = *DeviceScheduler::Create(
      device, {.workers = 1, .on_lost = [&told](const DeviceInfo& info, const absl::Status& why) {
                 EXPECT_EQ(info.name, "fake:0");
                 EXPECT_EQ(why.message(), "gone");
                 ++told;
               }});
  absl::Notification gate;
  FakeTask running(4, &gate);
  running.fake_payload().FailRead(DeviceLostError("gone"));
  ASSERT_TRUE(scheduler->Submit(&running).ok());
  running.fake_payload().opened().WaitForNotification();
  FakeTask waiting;
  ASSERT_TRUE(scheduler->Submit(&waiting).ok());
  gate.Notify();
  EXPECT_EQ(running.Await().outcome.status().message(), "gone");
  EXPECT_EQ(waiting.Await().outcome.status().code(), absl::StatusCode::kUnavailable);
  FakeTask late;
  EXPECT_EQ(scheduler->Submit(&late).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(scheduler->state().devices_lost, 1);
  EXPECT_EQ(scheduler->state().queued, 0);
}

TEST(DeviceSchedulerTest, NoOtherErrorLosesTheDevice) {
  FakeDevice device;
  const auto scheduler = *DeviceScheduler::Create(
      device, {.workers = 1, .on_lost = [](const DeviceInfo&, const absl::Status& why) {
                 ADD_FAILURE() << why;
               }});
  for (const absl::Status& error :
       {absl::UnavailableError("the region is gone"),
        absl::InternalError("CUDA: cudaErrorInvalidValue"), absl::ResourceExhaustedError("full")}) {
    FakeTask task;
    task.fake_payload().FailRead(error);
    ASSERT_TRUE(scheduler->Submit(&task).ok());
    EXPECT_EQ(task.Await().outcome.status(), error);
  }
  FakeTask host;
  host.SetAction(RunOnHost{[] { return DeviceLostError("a peer's device"); }}, /*where=*/nullptr);
  ASSERT_TRUE(scheduler->Submit(&host).ok());
  EXPECT_TRUE(IsDeviceLost(host.Await().outcome.status()));
  EXPECT_EQ(scheduler->state().devices_lost, 0);
  FakeTask next;
  ASSERT_TRUE(scheduler->Submit(&next).ok());
  EXPECT_TRUE(next.Await().outcome.ok());
}

}  // namespace
}  // namespace warpfold
