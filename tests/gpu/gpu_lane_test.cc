// The CUDA lanes do what every Lane must do, alone and side by side.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/device/backend/backend.h"
#include "tests/device/edge_cases.h"
#include "tests/device/golden_cases.h"
#include "tests/device/lane_cases.h"
#include "tests/device/part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/gpu/overlaps_passes.h"

namespace warpfold {
namespace {

class GpuLaneTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    options_.slab_bytes = GetParam();
    options_.slabs_per_lane = 3;
    options_.scratch_bytes = 256 << 20;
    options_.overlaps_passes = TestsOverlapPasses();
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, options_);
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    lane_ = MakeLane();
  }
  std::unique_ptr<Lane> MakeLane() { return *devices_.executors[0]->MakeLane(); }

  LaneOptions options_;
  Devices devices_;
  std::unique_ptr<Lane> lane_;
};

TEST_P(GpuLaneTest, GivesExactBitsHoweverTheBytesArrive) {
  testing::GivesExactBitsHoweverTheBytesArrive(*lane_, 60);
}
TEST_P(GpuLaneTest, AnswersAsEver) { testing::AnswersAsEver(*lane_); }
TEST_P(GpuLaneTest, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*lane_); }
TEST_P(GpuLaneTest, CountsWhatItDid) {
  testing::CountsWhatItDid(*devices_.executors[0], *lane_, true);
}
TEST_P(GpuLaneTest, RefusesSumsThatDoNotFit) { testing::RefusesSumsThatDoNotFit(*lane_); }
TEST_P(GpuLaneTest, AnswersWhereAllElementsAreNan) {
  testing::AnswersWhereAllElementsAreNan(*lane_);
}
TEST_P(GpuLaneTest, FindsExtremaBesideTilesOfNan) { testing::FindsExtremaBesideTilesOfNan(*lane_); }
TEST_P(GpuLaneTest, SumsRowsWithInfinities) { testing::SumsRowsWithInfinities(*lane_); }
TEST_P(GpuLaneTest, AnswersWhereTheCorrectionLeavesNoDivisor) {
  testing::AnswersWhereTheCorrectionLeavesNoDivisor(*lane_);
}
TEST_P(GpuLaneTest, RefusesIntegersThatDoNotFitAndOverflowsFloats) {
  testing::RefusesIntegersThatDoNotFitAndOverflowsFloats(*lane_);
}
TEST_P(GpuLaneTest, GoesOnWithWhatWasSuspended) {
  const std::unique_ptr<Lane> other = MakeLane();
  testing::GoesOnWithWhatWasSuspended({lane_.get(), other.get()});
}
TEST_P(GpuLaneTest, KeepsASuspendedOverflowToItself) {
  const std::unique_ptr<Lane> other = MakeLane();
  testing::KeepsASuspendedOverflowToItself({lane_.get(), other.get()});
}
TEST_P(GpuLaneTest, GoesOnWithASuspendedWrite) {
  const std::unique_ptr<Lane> other = MakeLane();
  testing::GoesOnWithASuspendedWrite(*devices_.executors[0], {lane_.get(), other.get()});
}
TEST_P(GpuLaneTest, DropsWhatStaysSuspended) { testing::DropsWhatStaysSuspended(*lane_); }
// Four times the scratch memory of one reduction, for all that clients leave: that many reductions
// at least, and no more results than fit.
TEST_P(GpuLaneTest, SuspendsNoMoreThanItHasRoomFor) {
  constexpr std::int64_t kRows = 3'000'000;
  const Plan plan =
      *MakePlan({.dtype = DType::kF64, .shape = {kRows, 2}, .ops = {Op::kSum}, .axes = {1}});
  std::vector<std::unique_ptr<Suspended>> suspended;
  absl::Status status;
  while (status.ok()) {
    ASSERT_LT(suspended.size(), 100U);
    ASSERT_TRUE(lane_->Begin(plan).ok());
    absl::StatusOr<std::unique_ptr<Suspended>> next = lane_->Suspend();
    status = next.status();
    if (next.ok()) suspended.push_back(*std::move(next));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GE(suspended.size(), 4U);
  EXPECT_LE(suspended.size() * kRows * sizeof(double), 4 * options_.scratch_bytes);
  suspended.pop_back();
  ASSERT_TRUE(lane_->Begin(plan).ok());
  EXPECT_TRUE(lane_->Suspend().ok());
}
TEST_P(GpuLaneTest, ServesTheNextRequestAfterAbandon) {
  testing::ServesTheNextRequestAfterAbandon(*lane_);
}
TEST_P(GpuLaneTest, AnAbandonedOverflowIsForgotten) {
  testing::AnAbandonedOverflowIsForgotten(*lane_);
}
TEST_P(GpuLaneTest, RefusesWhatItsScratchCannotHold) {
  testing::RefusesWhatItsScratchCannotHold(*lane_);
}
TEST_P(GpuLaneTest, RefusesWhatTheBudgetCannotHold) {
  testing::RefusesWhatTheBudgetCannotHold(*lane_);
}
TEST_P(GpuLaneTest, PartsMergeToTheWhole) { testing::PartsMergeToTheWhole(*lane_, 20); }
TEST_P(GpuLaneTest, PartsOfManyPlanesMergeToTheWhole) {
  testing::PartsOfManyPlanesMergeToTheWhole(*lane_);
}
TEST_P(GpuLaneTest, LeavesTheValuesThatTheCpuLeaves) {
  Devices cpu = *OpenDevices(Backend::kCpu, options_);
  testing::LeavesTheSameValues(*lane_, **cpu.executors[0]->MakeLane(), 20);
}

TEST_P(GpuLaneTest, GivesTheSameBitsOnManyStreamsAtOnce) {
  for (const int streams : {2, 8}) {
    std::vector<std::thread> threads;
    for (int t = 0; t < streams; ++t) {
      threads.emplace_back([this, t] {
        std::unique_ptr<Lane> lane = MakeLane();
        std::mt19937_64 random(static_cast<std::uint64_t>(t));
        for (int i = 0; i < testing::Rounds(20); ++i) {
          testing::ExpectExactBits<float>(*lane, testing::RandomCase(DType::kF32, 300000, random),
                                          random);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// Columns whose exact sums take more than the GPU sets aside.
TEST(GpuScratchTest, AReductionMayTakeMoreThanIsSetAside) {
  const Plan plan =
      *MakePlan({.dtype = DType::kF64, .shape = {3, 20'000}, .ops = {Op::kStd}, .axes = {0}});
  for (const bool is_more : {false, true}) {
    LaneOptions options{.slab_bytes = 64 << 10, .slabs_per_lane = 2, .scratch_bytes = 1 << 20};
    if (is_more) options.gpu_scratch_bytes = 0;
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, options);
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    const std::unique_ptr<Lane> lane = *devices->executors[0]->MakeLane();
    const absl::Status begun = lane->Begin(plan);
    EXPECT_EQ(begun.code(), is_more ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted)
        << begun;
    lane->Abandon();
  }
}

INSTANTIATE_TEST_SUITE_P(SlabBytes, GpuLaneTest,
                         ::testing::Values(std::size_t{64} << 10, std::size_t{4} << 20),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace warpfold
