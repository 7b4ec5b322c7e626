// Three devices of the test's own, over all of which every tensor lies split, and ways to fill,
// hold and break them. Shared by the tests of split reductions and of split writes.
#ifndef WARPFOLD_TESTS_SERVER_SPLIT_FIXTURE_H_
#define WARPFOLD_TESTS_SERVER_SPLIT_FIXTURE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/device/split_cases.h"
#include "tests/server/faulty_device.h"

namespace warpfold {

class SplitFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kElements = 96 << 10;  // i32: a third on each device
  static constexpr std::int64_t kThird = kElements / 3 * 4;

  SplitFixture() {
    for (const char* name : {"cuda:0", "cuda:1", "cuda:2"}) {
      auto device = std::make_unique<FaultyDevice>(name);
      faulty_.push_back(device.get());
      executors_.push_back(std::move(device));
    }
    Start({.workers = 1, .queue_depth_max = 1});
  }
  // Nothing is held when all is over.
  ~SplitFixture() override {
    if (devices_ == nullptr) return;
    for (FaultyDevice* device : faulty_) device->Release();  // a failed test's
    devices_->scheduler = nullptr;
    const TensorTableState state = devices_->table.state();
    EXPECT_EQ(state.reductions, 0);
    EXPECT_EQ(state.writes, 0);
    EXPECT_EQ(state.ending.count, 0);
  }

  void Start(const SchedulerOptions& options) {
    devices_ = std::make_unique<testing::SplitDevices>(executors_, options);
  }
  Scheduler& scheduler() { return *devices_->scheduler; }
  TensorTable& table() { return devices_->table; }
  static absl::Span<const std::byte> Bytes(const std::vector<std::int32_t>& elements) {
    return absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                          elements.size() * sizeof(std::int32_t));
  }
  std::string PutOnes() {
    std::string id = devices_->Create(DType::kI32, {kElements});
    EXPECT_EQ(devices_->ShardCount(id), 3U);
    EXPECT_TRUE(devices_->Write(id, 0, Bytes(ones_)).ok());
    return id;
  }
  std::unique_ptr<testing::ResidentTask> Sum(const std::string& id) {
    return std::make_unique<testing::ResidentTask>(*table().Read(Everyone(), id, false), plan_);
  }
  // One that is under way, its shard on `device` held.
  std::unique_ptr<testing::ResidentTask> SumHeldOn(std::size_t device, const std::string& id) {
    faulty_[device]->Hold();
    std::unique_ptr<testing::ResidentTask> task = Sum(id);
    EXPECT_TRUE(scheduler().Submit(task.get()).ok());
    faulty_[device]->AwaitHeld(1);
    return task;
  }
  // A tensor that is on the device `name` alone: one element cannot be split.
  std::string PutSmallOn(const std::string& name) {
    while (true) {
      std::string id = devices_->Create(DType::kI32, {1});
      EXPECT_TRUE(devices_->Write(id, 0, Bytes({1})).ok());
      if (table().Read(Everyone(), id, false)->devices().name == name) return id;
    }
  }
  std::unique_ptr<testing::ResidentTask> SumSmall(const std::string& id) {
    return std::make_unique<testing::ResidentTask>(
        *table().Read(Everyone(), id, false),
        *MakePlan({.dtype = DType::kI32, .shape = {1}, .ops = {Op::kSum}}));
  }
  // Fills the worker, and the queue, of `device`.
  std::array<std::unique_ptr<testing::ResidentTask>, 2> Fill(std::size_t device) {
    const std::string id = PutSmallOn(executors_[device]->info().name);
    std::array<std::unique_ptr<testing::ResidentTask>, 2> tasks = {SumSmall(id), SumSmall(id)};
    faulty_[device]->Hold();
    EXPECT_TRUE(scheduler().Submit(tasks[0].get()).ok());
    faulty_[device]->AwaitHeld(1);
    EXPECT_TRUE(scheduler().Submit(tasks[1].get()).ok());
    return tasks;
  }
  // Fills the worker alone.
  std::unique_ptr<testing::ResidentTask> FillWorker(std::size_t device) {
    std::array<std::unique_ptr<testing::ResidentTask>, 2> tasks = Fill(device);
    EXPECT_TRUE(scheduler().Withdraw(tasks[1].get()));
    tasks[1]->Release();
    return std::move(tasks[0]);
  }
  void ExpectSumOfOnes(const std::string& id) {
    const absl::StatusOr<Outcome> outcome = devices_->Reduce(id, plan_);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->results[0], testing::BytesOf<std::int64_t>(kElements));
  }
  // Four threads submit sums of the ones and take back each third, after `wait` for a while; how
  // many were answered.
  int SubmitAndCancel(
      const std::string& id, const std::function<void(int)>& wait = [](int) {}) {
    std::atomic<int> answered{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 60; ++i) {
          const auto task = Sum(id);
          if (!scheduler().Submit(task.get()).ok()) {
            task->Release();
            continue;
          }
          if ((i + t) % 3 == 0) {
            wait(i);
            task->Cancel();
            if (scheduler().Withdraw(task.get())) {
              task->Release();
              continue;
            }
          }
          const absl::StatusOr<Outcome>& outcome = task->Await().outcome;
          if (outcome.ok()) {
            EXPECT_EQ(outcome->results[0], testing::BytesOf<std::int64_t>(kElements));
            ++answered;
          } else {
            // The second device's queue may be full when the first one's shard already runs.
            EXPECT_TRUE(absl::IsCancelled(outcome.status()) ||
                        absl::IsResourceExhausted(outcome.status()))
                << outcome.status();
          }
        }
      });
    }
    threads.clear();
    return answered;
  }

  std::vector<FaultyDevice*> faulty_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::unique_ptr<testing::SplitDevices> devices_;
  const std::vector<std::int32_t> ones_ = std::vector<std::int32_t>(kElements, 1);
  const Plan plan_ = *MakePlan({.dtype = DType::kI32, .shape = {kElements}, .ops = {Op::kSum}});
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_SPLIT_FIXTURE_H_
