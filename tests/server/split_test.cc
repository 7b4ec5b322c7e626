// Reductions of tensors that lie split over three devices of the test's own: the same bits, and
// what becomes of a task when one of its devices fails, is full or goes away.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/split_fixture.h"

namespace warpfold {
namespace {

using testing::ResidentTask;
using SplitTest = SplitFixture;

TEST_F(SplitTest, ReducesToTheBitsOfOneDevice) {
  testing::SplitTensorsReduceToTheBitsOfOneDevice(executors_, 1);
}

TEST_F(SplitTest, SumsThatDoNotFitAreNamedAsOnOneDevice) {
  testing::SplitSumsThatDoNotFitAreNamedAsOnOneDevice(executors_);
}

TEST_F(SplitTest, AnAnswerNamesAllOfItsDevices) {
  const std::string id = PutOnes();
  const auto task = Sum(id);
  ASSERT_TRUE(scheduler().Submit(task.get()).ok());
  EXPECT_TRUE(task->Await().outcome.ok());
  EXPECT_EQ(task->device_names(), "cuda:0,cuda:1,cuda:2");
}

TEST_F(SplitTest, ShardsAreReducedAtTheSameTime) {
  const std::string id = PutOnes();
  for (FaultyDevice* device : faulty_) device->Hold();
  const auto task = Sum(id);
  ASSERT_TRUE(scheduler().Submit(task.get()).ok());
  for (FaultyDevice* device : faulty_) device->AwaitHeld(1);
  EXPECT_EQ(scheduler().state().workers_in_use, 3);
  for (FaultyDevice* device : faulty_) device->Release();
  EXPECT_TRUE(task->Await().outcome.ok());
  EXPECT_EQ(scheduler().state().load(), 0);
}

TEST_F(SplitTest, OneShardThatFailsFailsTheReductionAndNoOther) {
  const std::string id = PutOnes();
  for (FaultyDevice* device : faulty_) {
    device->FailNext(absl::ResourceExhaustedError("no scratch"));
    EXPECT_EQ(devices_->Reduce(id, plan_).status(), absl::ResourceExhaustedError("no scratch"));
    ExpectSumOfOnes(id);
  }
}

TEST_F(SplitTest, AShardThatHasNotBegunWhenAnotherFailsIsNotReduced) {
  const std::string id = PutOnes();
  const auto blocking = Fill(2);
  ASSERT_TRUE(scheduler().Withdraw(blocking[1].get()));
  blocking[1]->Release();
  const auto task = Sum(id);
  faulty_[1]->FailNext(absl::ResourceExhaustedError("no scratch"));
  absl::Status status = scheduler().Submit(task.get());
  // The other two may be done before the third is submitted.
  const bool submitted = status.ok();
  if (!submitted) task->Release();
  while (scheduler().state().workers_in_use > 1 || scheduler().state().queued > 1) {
    std::this_thread::yield();
  }
  faulty_[2]->Release();
  EXPECT_TRUE(blocking[0]->Await().outcome.ok());
  if (submitted) status = task->Await().outcome.status();
  EXPECT_EQ(status, absl::ResourceExhaustedError("no scratch"));
  EXPECT_EQ(faulty_[2]->reductions(), 1) << "of the tensor that blocked";
}

TEST_F(SplitTest, ALostDeviceEndsWhatLiesOnItAndTheOthersGoOn) {
  const std::string id = PutOnes();
  const std::string elsewhere = PutSmallOn("cuda:2");
  faulty_[1]->Lose();
  EXPECT_EQ(devices_->Reduce(id, plan_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(table().Read(Everyone(), id, false).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(scheduler().state().devices_lost, 1);
  const auto small = SumSmall(elsewhere);
  ASSERT_TRUE(scheduler().Submit(small.get()).ok());
  EXPECT_TRUE(small->Await().outcome.ok());
  const std::string next = devices_->Create(DType::kI32, {kElements});
  EXPECT_EQ(devices_->ShardCount(next), 2U);
  EXPECT_TRUE(devices_->Write(next, 0, Bytes(ones_)).ok());
  ExpectSumOfOnes(next);
}

TEST_F(SplitTest, AFullQueueOfOneDeviceTakesTheShardsBackFromTheOthers) {
  const std::string id = PutOnes();
  const auto first = Fill(0);
  const auto second = Fill(1);
  ASSERT_TRUE(scheduler().Withdraw(first[1].get()));
  first[1]->Release();
  const auto task = Sum(id);
  EXPECT_EQ(scheduler().Submit(task.get()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(scheduler().Withdraw(task.get()));
  EXPECT_EQ(scheduler().state().queued, 1) << "the second device's own";
  task->Release();
  for (FaultyDevice* device : faulty_) device->Release();
  EXPECT_TRUE(first[0]->Await().outcome.ok());
  for (const auto& other : second) EXPECT_TRUE(other->Await().outcome.ok());
  ExpectSumOfOnes(id);
}

TEST_F(SplitTest, IsAskedOnceWhetherItMayQueueAndNotForEachShard) {
  const std::string id = PutOnes();
  const auto queued = Sum(id);
  ASSERT_TRUE(scheduler().Submit(queued.get()).ok());
  EXPECT_TRUE(queued->Await().outcome.ok());
  EXPECT_EQ(queued->queue_asks(), 1);
  const auto refused = Sum(id);
  refused->RefuseToQueue();
  EXPECT_EQ(scheduler().Submit(refused.get()), absl::ResourceExhaustedError("too many"));
  EXPECT_FALSE(scheduler().Withdraw(refused.get()));
  refused->Release();
}

// A cancellation may look for the task between its refusal and the end of Submit.
TEST_F(SplitTest, ARefusedTaskCannotBeTakenBackAsWell) {
  struct FullDevices final : SplitHost {
    absl::Status SubmitTo(const DeviceInfo&, Task*) override {
      return absl::ResourceExhaustedError("full");
    }
    bool WithdrawFrom(const DeviceInfo&, Task*) override { return false; }
    void End(Task&, TaskReport) override { FAIL() << "nothing was accepted"; }
  } host;
  const auto task = Sum(PutOnes());
  const std::unique_ptr<SplitRun> split = Split(host, *task);
  EXPECT_EQ(split->Submit(), absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(split->Withdraw());
  task->Release();
}

// A shard may fail before the next one is submitted, which is then not wanted any more.
TEST_F(SplitTest, AFailureBeforeAllAreSubmittedIsTheAnswer) {
  struct FirstDeviceFails final : SplitHost {
    absl::Status SubmitTo(const DeviceInfo& device, Task* task) override {
      if (absl::Status why = task->token.CheckCancelled(); !why.ok()) return why;
      EXPECT_EQ(device.name, "cuda:0") << "nothing else is wanted";
      TaskReport report;
      report.outcome = absl::UnavailableError("lost");
      task->owner.OnDone(std::move(report));
      return absl::OkStatus();
    }
    bool WithdrawFrom(const DeviceInfo&, Task*) override { return false; }
    void End(Task&, TaskReport) override { FAIL() << "Submit has the answer"; }
  } host;
  const auto task = Sum(PutOnes());
  EXPECT_EQ(Split(host, *task)->Submit(), absl::UnavailableError("lost"));
  task->Release();
}

TEST_F(SplitTest, AFullQueueIsTheAnswerWhenOtherShardsRunAlready) {
  const std::string id = PutOnes();
  const auto second = Fill(1);
  faulty_[0]->Hold();
  int refused = 0;
  // A worker may or may not take the first shard before the second one is refused.
  for (int i = 0; i < 20; ++i) {
    const auto task = Sum(id);
    absl::Status status = scheduler().Submit(task.get());
    if (status.ok()) {
      faulty_[0]->Release();
      status = task->Await().outcome.status();
      faulty_[0]->Hold();
    } else {
      task->Release();
    }
    if (status.code() == absl::StatusCode::kResourceExhausted) ++refused;
  }
  EXPECT_EQ(refused, 20);
  for (FaultyDevice* device : faulty_) device->Release();
  for (const auto& other : second) EXPECT_TRUE(other->Await().outcome.ok());
  ExpectSumOfOnes(id);
}

TEST_F(SplitTest, ATaskThatWaitsOnEveryDeviceIsTakenBack) {
  const std::string id = PutOnes();
  std::vector<std::unique_ptr<ResidentTask>> blocking;
  for (std::size_t device = 0; device < 3; ++device) blocking.push_back(FillWorker(device));
  const auto task = Sum(id);
  ASSERT_TRUE(scheduler().Submit(task.get()).ok());
  EXPECT_EQ(scheduler().state().queued, 3);
  EXPECT_TRUE(scheduler().Withdraw(task.get()));
  EXPECT_EQ(scheduler().state().queued, 0);
  EXPECT_FALSE(scheduler().Withdraw(task.get()));
  task->Release();
  for (FaultyDevice* device : faulty_) device->Release();
  for (const auto& other : blocking) EXPECT_TRUE(other->Await().outcome.ok());
}

TEST_F(SplitTest, NoShardBeginsOnceTheRequestIsNotWanted) {
  const std::string id = PutOnes();
  std::vector<std::unique_ptr<ResidentTask>> blocking;
  for (std::size_t device = 0; device < 3; ++device) blocking.push_back(FillWorker(device));
  const auto task = Sum(id);
  ASSERT_TRUE(scheduler().Submit(task.get()).ok());
  task->Cancel();  // and nobody takes it back
  for (FaultyDevice* device : faulty_) device->Release();
  EXPECT_EQ(task->Await().outcome.status(), absl::CancelledError("cancelled"));
  for (const auto& other : blocking) EXPECT_TRUE(other->Await().outcome.ok());
  for (FaultyDevice* device : faulty_) EXPECT_EQ(device->reductions(), 1) << "what blocked it";
}

TEST_F(SplitTest, ACancelledTaskEndsWhenItsRunningShardsDo) {
  const std::string id = PutOnes();
  const auto blocking = Fill(2);
  ASSERT_TRUE(scheduler().Withdraw(blocking[1].get()));
  blocking[1]->Release();
  const auto task = SumHeldOn(0, id);
  task->Cancel();
  EXPECT_FALSE(scheduler().Withdraw(task.get()));
  EXPECT_EQ(scheduler().state().queued, 0) << "what waited was taken back";
  faulty_[0]->Release();
  EXPECT_EQ(task->Await().outcome.status().code(), absl::StatusCode::kCancelled);
  faulty_[2]->Release();
  EXPECT_TRUE(blocking[0]->Await().outcome.ok());
  ExpectSumOfOnes(id);
}

TEST_F(SplitTest, ATensorDeletedWhileItIsReducedIsReducedFirst) {
  const std::string id = PutOnes();
  const auto task = SumHeldOn(1, id);
  EXPECT_TRUE(table().Delete(Everyone(), id).ok());
  EXPECT_EQ(table().state().ending.bytes, kElements * 4);
  faulty_[1]->Release();
  EXPECT_TRUE(task->Await().outcome.ok());
  EXPECT_EQ(table().state().ending.bytes, 0);
}

TEST_F(SplitTest, ASchedulerThatGoesFinishesWhatItTook) {
  const std::string id = PutOnes();
  const auto task = SumHeldOn(1, id);
  std::jthread going([this] { devices_->scheduler = nullptr; });
  faulty_[1]->Release();
  EXPECT_TRUE(task->Await().outcome.ok());
}

// Whoever gets it back, by a refusal or by taking it back, is the only one to end it.
TEST_F(SplitTest, ATaskTakenBackWhileItIsSubmittedEndsOnce) {
  const std::string id = PutOnes();
  const auto second = Fill(1);
  const auto first = Fill(0);
  ASSERT_TRUE(scheduler().Withdraw(first[1].get()));
  first[1]->Release();
  for (int i = 0; i < 300; ++i) {
    const auto task = Sum(id);
    std::atomic<bool> submitted{false};
    std::atomic<int> given_back{0};
    std::jthread canceller([&] {
      while (!submitted) given_back += scheduler().Withdraw(task.get()) ? 1 : 0;
    });
    // The second device is full.
    given_back += scheduler().Submit(task.get()).ok() ? 0 : 1;
    submitted = true;
    canceller.join();
    EXPECT_EQ(given_back, 1);
    EXPECT_EQ(scheduler().state().queued, 1) << "the second device's own";
    task->Release();
  }
  for (FaultyDevice* device : faulty_) device->Release();
  EXPECT_TRUE(first[0]->Await().outcome.ok());
  for (const auto& other : second) EXPECT_TRUE(other->Await().outcome.ok());
}

TEST_F(SplitTest, ManySubmittersAndCancellersLoseNothing) {
  Start({.workers = 2, .queue_depth_max = 3});
  const std::string id = PutOnes();
  EXPECT_GT(SubmitAndCancel(id), 0);
  EXPECT_EQ(scheduler().state().load(), 0);
  ExpectSumOfOnes(id);
}

}  // namespace
}  // namespace warpfold
