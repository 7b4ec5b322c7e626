#include "server/core/part_run.h"

#include <cstring>
#include <numeric>

#include "gtest/gtest.h"
#include "server/core/lane_run.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_work.h"

// Goes with sums that have an order.
#ifndef WARPFOLD_EXACT
namespace warpfold {
namespace {

// Three row tiles of float64, two nodes; the elements are the bits of 1, 2, 3 ...
class PartWork final : public Work {
 public:
  static constexpr std::int64_t kTile = 512;

  PartWork() : payload_(3 * kTile, &gate_) {
    const ReduceSpec spec{.dtype = DType::kF64, .shape = {3 * kTile}, .ops = {Op::kSum}};
    part_ = *MakePart(spec, *MakePlan(spec), spec.shape, 0);
    plan_ = PlanOf(part_);
    gate_.Notify();
  }

  FakePayload& fake_payload() { return payload_; }
  // The answer is no longer wanted once so many of the fake lane's buffers were read and one more.
  void CancelAfter(int buffers) {
    payload_.CallAfter(buffers, [this] { token().Cancel(absl::CancelledError("cancelled")); });
  }

  const Plan& plan() const override { return plan_; }
  LaneTask task() override { return ReducePart{&part_}; }
  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return false; }
  void Done(WorkReport) override {}

 private:
  Part part_;
  Plan plan_;
  absl::Notification gate_;
  FakePayload payload_;
};

class PartRunTest : public ::testing::Test {
 protected:
  absl::StatusOr<Outcome> Run() {
    return RunOnLane(*lane_, work_, std::chrono::steady_clock::now()).outcome;
  }

  FakeDevice device_;
  std::unique_ptr<Lane> lane_ = *device_.MakeLane();
  PartWork work_;
};

TEST_F(PartRunTest, EveryNodeIsAReductionOfItsOwn) {
  const absl::StatusOr<Outcome> outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_EQ(outcome->results.size(), 1U);
  ASSERT_EQ(outcome->results[0].size(), 16U);
  std::int64_t sums[2] = {};
  std::memcpy(sums, outcome->results[0].data(), sizeof(sums));
  EXPECT_EQ(sums[0], 1024 * 1025 / 2);
  EXPECT_EQ(sums[1], 1536 * 1537 / 2 - 1024 * 1025 / 2);
  EXPECT_EQ(device_.counts().finished, 2);
  EXPECT_EQ(device_.counts().abandoned, 0);
}

TEST_F(PartRunTest, AFailedBeginNeverOpensThePayload) {
  device_.FailBegin(absl::ResourceExhaustedError("scratch"));
  EXPECT_EQ(Run().status(), absl::ResourceExhaustedError("scratch"));
  EXPECT_FALSE(work_.fake_payload().opened().HasBeenNotified());
}

TEST_F(PartRunTest, AFailedReadAbandonsTheLaneAndKeepsItsStatus) {
  work_.fake_payload().FailRead(absl::InvalidArgumentError("chunk: short"));
  EXPECT_EQ(Run().status(), absl::InvalidArgumentError("chunk: short"));
  EXPECT_EQ(device_.counts().abandoned, 1);
}

TEST_F(PartRunTest, CancellationInTheSecondNodeAbandonsTheLane) {
  // The fake lane's buffers have 8 elements.
  work_.CancelAfter(2 * PartWork::kTile / 8);
  EXPECT_EQ(Run().status(), absl::CancelledError("cancelled"));
  EXPECT_EQ(device_.counts().finished, 1);
  EXPECT_EQ(device_.counts().abandoned, 1);
}

}  // namespace
}  // namespace warpfold
#endif
