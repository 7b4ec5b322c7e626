#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "server/device/backend/backend.h"
#include "tests/device/edge_cases.h"
#include "tests/device/golden_cases.h"
#include "tests/device/lane_cases.h"
#include "tests/device/part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

class CpuLaneTest : public ::testing::Test {
 protected:
  static constexpr LaneOptions kOptions{
      .slab_bytes = 64 << 10, .slabs_per_lane = 2, .scratch_bytes = 256 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  std::unique_ptr<Lane> lane_ = *devices_.executors[0]->MakeLane();
  std::unique_ptr<Lane> other_ = *devices_.executors[0]->MakeLane();
};

TEST_F(CpuLaneTest, GivesExactBitsHoweverTheBytesArrive) {
  testing::GivesExactBitsHoweverTheBytesArrive(*lane_, 60);
}
TEST_F(CpuLaneTest, AnswersAsEver) { testing::AnswersAsEver(*lane_); }
TEST_F(CpuLaneTest, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*lane_); }
TEST_F(CpuLaneTest, CountsWhatItDid) {
  testing::CountsWhatItDid(*devices_.executors[0], *lane_, false);
}
TEST_F(CpuLaneTest, RefusesSumsThatDoNotFit) { testing::RefusesSumsThatDoNotFit(*lane_); }
TEST_F(CpuLaneTest, AnswersWhereAllElementsAreNan) {
  testing::AnswersWhereAllElementsAreNan(*lane_);
}
TEST_F(CpuLaneTest, FindsExtremaBesideTilesOfNan) { testing::FindsExtremaBesideTilesOfNan(*lane_); }
TEST_F(CpuLaneTest, SumsRowsWithInfinities) { testing::SumsRowsWithInfinities(*lane_); }
TEST_F(CpuLaneTest, AnswersWhereTheCorrectionLeavesNoDivisor) {
  testing::AnswersWhereTheCorrectionLeavesNoDivisor(*lane_);
}
TEST_F(CpuLaneTest, RefusesIntegersThatDoNotFitAndOverflowsFloats) {
  testing::RefusesIntegersThatDoNotFitAndOverflowsFloats(*lane_);
}
TEST_F(CpuLaneTest, GoesOnWithWhatWasSuspended) {
  testing::GoesOnWithWhatWasSuspended({lane_.get(), other_.get()});
}
TEST_F(CpuLaneTest, KeepsASuspendedOverflowToItself) {
  testing::KeepsASuspendedOverflowToItself({lane_.get(), other_.get()});
}
TEST_F(CpuLaneTest, GoesOnWithASuspendedWrite) {
  testing::GoesOnWithASuspendedWrite(*devices_.executors[0], {lane_.get(), other_.get()});
}
TEST_F(CpuLaneTest, DropsWhatStaysSuspended) { testing::DropsWhatStaysSuspended(*lane_); }
TEST_F(CpuLaneTest, ServesTheNextRequestAfterAbandon) {
  testing::ServesTheNextRequestAfterAbandon(*lane_);
}
TEST_F(CpuLaneTest, AnAbandonedOverflowIsForgotten) {
  testing::AnAbandonedOverflowIsForgotten(*lane_);
}
TEST_F(CpuLaneTest, RefusesWhatItsScratchCannotHold) {
  testing::RefusesWhatItsScratchCannotHold(*lane_);
}
TEST_F(CpuLaneTest, RefusesWhatTheBudgetCannotHold) {
  testing::RefusesWhatTheBudgetCannotHold(*lane_);
}
TEST_F(CpuLaneTest, ScratchOfAsManyBytesAsTheRefusalNamesIsEnough) {
  const Plan plan =
      *MakePlan({.dtype = DType::kF32, .shape = {70, 3001}, .ops = {Op::kSum}, .axes = {1}});
  const auto begun_with = [&plan](std::size_t scratch_bytes) {
    Devices devices = *OpenDevices(Backend::kCpu, {.scratch_bytes = scratch_bytes});
    const std::unique_ptr<Lane> lane = *devices.executors[0]->MakeLane();
    const absl::Status begun = lane->Begin(plan);
    lane->Abandon();
    return begun;
  };
  const std::string refusal(begun_with(0).message());
  const std::string start = "tensor.shape: partial states and results take ";
  ASSERT_EQ(refusal.substr(0, start.size()), start);
  const std::size_t needed_bytes = std::stoul(refusal.substr(start.size()));
  EXPECT_TRUE(begun_with(needed_bytes).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(begun_with(needed_bytes - 1)));
}
// Tasks are oneTBB's: one thread, or more than there are processors.
TEST_F(CpuLaneTest, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                              static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    arena.execute([&] {
      std::mt19937_64 random(60);  // the same tensors each time, and the oracle's bits
      for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
        testing::Case c;
        c.spec = {.dtype = dtype, .ops = testing::LastOps()};
        for (const auto& [shape, axes] : std::vector<testing::ShapeAndAxes>{
                 {{300001}, {}}, {{70, 3001}, {1}}, {{3001, 70}, {0}}, {{4, 500, 30}, {0, 2}}}) {
          c.spec.shape = shape;
          c.spec.axes = axes;
          VisitDType(dtype, [&](auto tag) {
            testing::ExpectExactBits<typename decltype(tag)::type>(*lane_, c, random);
          });
        }
      }
    });
  }
}
TEST_F(CpuLaneTest, PartsMergeToTheWhole) { testing::PartsMergeToTheWhole(*lane_, 40); }
TEST_F(CpuLaneTest, PartsOfManyPlanesMergeToTheWhole) {
  testing::PartsOfManyPlanesMergeToTheWhole(*lane_);
}
// The same lane, with another slab: pieces of other sizes.
TEST_F(CpuLaneTest, LeavesTheSameValuesHoweverLargeItsSlabIs) {
  const LaneOptions large{.slab_bytes = 4 << 20, .slabs_per_lane = 2, .scratch_bytes = 256 << 20};
  Devices devices = *OpenDevices(Backend::kCpu, large);
  testing::LeavesTheSameValues(*lane_, **devices.executors[0]->MakeLane(), 20);
}

}  // namespace
}  // namespace warpfold
