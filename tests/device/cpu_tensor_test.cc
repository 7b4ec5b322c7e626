#include <gtest/gtest.h>

#include <limits>

#include "server/device/backend/backend.h"
#include "tests/device/tensor_cases.h"

namespace warpfold {
namespace {

class CpuTensorTest : public ::testing::Test {
 protected:
  static constexpr LaneOptions kOptions{
      .slab_bytes = 64 << 10, .slabs_per_lane = 2, .scratch_bytes = 192 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  Executor& executor_ = *devices_.executors[0];
  std::unique_ptr<Lane> lane_ = *executor_.MakeLane();
};

TEST_F(CpuTensorTest, ReducesTensorsWhereTheyLie) {
  testing::ReducesTensorsWhereTheyLie(executor_, *lane_, 20);
}
TEST_F(CpuTensorTest, ReducesATensorLargerThanAPiece) {
  testing::ReducesATensorLargerThanAPiece(executor_, *lane_);
}
TEST_F(CpuTensorTest, RefusedReductionsLeaveTheTensorAndTheLane) {
  testing::RefusedReductionsLeaveTheTensorAndTheLane(executor_, *lane_);
}
TEST_F(CpuTensorTest, AnAbandonedWriteLeavesTheRest) {
  testing::AnAbandonedWriteLeavesTheRest(executor_, *lane_);
}
TEST_F(CpuTensorTest, LanesShareATensor) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < 3; ++i) lanes.push_back(*executor_.MakeLane());
  testing::LanesShareATensor(executor_, lanes);
}

TEST_F(CpuTensorTest, MemoryThatTheSystemDoesNotHaveIsRefused) {
  EXPECT_EQ(executor_.AllocateTensor(std::size_t{1} << 60).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace warpfold
