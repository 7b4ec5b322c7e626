// Split reductions on devices that join partials: what is undecided is reduced again, exactly.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "tests/server/split_fixture.h"

namespace warpfold {
namespace {

class SplitPartialsTest : public SplitFixture {
 protected:
  // Whichever device joins.
  void JoinPartials(int undecided) {
    for (FaultyDevice* device : faulty_) device->JoinPartials(undecided);
  }
  int Count(int (FaultyDevice::*count)() const) const {
    int all = 0;
    for (const FaultyDevice* device : faulty_) all += (device->*count)();
    return all;
  }
  int Reductions() {
    int all = 0;
    for (FaultyDevice* device : faulty_) all += device->reductions();
    return all;
  }
};

TEST_F(SplitPartialsTest, JoinsThemOnce) {
  JoinPartials(0);
  const std::string id = PutOnes();
  ExpectSumOfOnes(id);
  EXPECT_EQ(Count(&FaultyDevice::partials), 3);
  EXPECT_EQ(Count(&FaultyDevice::joins), 1);
  EXPECT_EQ(Reductions(), 3);
}

TEST_F(SplitPartialsTest, WhatIsUndecidedIsReducedAgainExactly) {
  JoinPartials(1);
  const std::string id = PutOnes();
  ExpectSumOfOnes(id);
  EXPECT_EQ(Count(&FaultyDevice::joins), 1);
  EXPECT_EQ(Count(&FaultyDevice::partials), 3);
  EXPECT_EQ(Reductions(), 6);
  EXPECT_EQ(scheduler().state().load(), 0);
}

TEST_F(SplitPartialsTest, ADeviceWithoutRoomForThemReducesExactly) {
  JoinPartials(0);
  faulty_[1]->HaveNoRoomForPartials();
  const std::string id = PutOnes();
  ExpectSumOfOnes(id);
  EXPECT_EQ(Count(&FaultyDevice::joins), 0);
  EXPECT_EQ(Reductions(), 6);
}

// Its rows are whole on their devices.
TEST_F(SplitPartialsTest, PlanesHaveNone) {
  JoinPartials(0);
  const std::string id = devices_->Create(DType::kI32, {96, 1024});
  ASSERT_TRUE(devices_->Write(id, 0, Bytes(ones_)).ok());
  ASSERT_EQ(devices_->ShardCount(id), 3U);
  const Plan rows =
      *MakePlan({.dtype = DType::kI32, .shape = {96, 1024}, .ops = {Op::kSum}, .axes = {1}});
  const absl::StatusOr<Outcome> outcome = devices_->Reduce(id, rows);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  std::string expected;
  for (int row = 0; row < 96; ++row) expected += testing::BytesOf<std::int64_t>(1024);
  EXPECT_EQ(outcome->results[0], expected);
  EXPECT_EQ(Count(&FaultyDevice::partials), 0);
  EXPECT_EQ(Count(&FaultyDevice::joins), 0);
}

TEST_F(SplitPartialsTest, AFailureTheSecondTimeIsTheAnswer) {
  JoinPartials(1);
  const std::string id = PutOnes();
  // It is the last to be reduced, and joins: the failure waits for what is reduced again.
  const auto task = SumHeldOn(0, id);
  while (faulty_[1]->reductions() + faulty_[2]->reductions() < 2 ||
         scheduler().state().workers_in_use > 1) {
    std::this_thread::yield();
  }
  faulty_[1]->FailNext(absl::ResourceExhaustedError("no scratch"));
  faulty_[0]->Release();
  EXPECT_EQ(task->Await().outcome.status(), absl::ResourceExhaustedError("no scratch"));
  EXPECT_EQ(scheduler().state().load(), 0);
  ExpectSumOfOnes(id);
}

TEST_F(SplitPartialsTest, ACancelledTaskDoesNotStartOver) {
  JoinPartials(1);
  const std::string id = PutOnes();
  const auto task = SumHeldOn(0, id);
  task->Cancel();
  EXPECT_FALSE(scheduler().Withdraw(task.get()));
  faulty_[0]->Release();
  EXPECT_EQ(task->Await().outcome.status().code(), absl::StatusCode::kCancelled);
  EXPECT_LE(Reductions(), 3);
  EXPECT_EQ(scheduler().state().load(), 0);
}

// Taken back at any moment, also between the two times.
TEST_F(SplitPartialsTest, ManySubmittersAndCancellersLoseNothing) {
  Start({.workers = 2, .queue_depth_max = 8});
  JoinPartials(1 << 20);
  const std::string id = PutOnes();
  const auto wait = [this](int i) {
    while (faulty_[0]->joins() % 7 != i % 7 && scheduler().state().load() > 0) {
      std::this_thread::yield();
    }
  };
  EXPECT_GT(SubmitAndCancel(id, wait), 0);
  EXPECT_EQ(scheduler().state().load(), 0);
}

}  // namespace
}  // namespace warpfold
