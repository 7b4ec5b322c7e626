// The CPU's lanes against its kernels, on elements as hard as they come.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/device/backend/backend.h"
#include "tests/device/exact_cases.h"
#include "tests/device/exact_part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/kernels/effort.h"

namespace warpfold {
namespace {

class CpuExactLaneTest : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr LaneOptions kOptions{
      .slab_bytes = 64 << 10, .slabs_per_lane = 2, .scratch_bytes = 256 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  std::unique_ptr<Lane> lane_ = *devices_.executors[0]->MakeLane();
  std::unique_ptr<Lane> other_ = *devices_.executors[0]->MakeLane();
};

TEST_P(CpuExactLaneTest, AnswersExactly) {
  testing::AnswersExactly(*devices_.executors[0], *lane_, GetParam(), testing::Rounds(40), 60'000);
}

TEST_P(CpuExactLaneTest, PartsJoinToTheWhole) {
  testing::PartsJoinToTheWhole(*devices_.executors[0], *lane_, *other_, GetParam(),
                               testing::Rounds(30), 10'000);
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, CpuExactLaneTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

using CpuExactLane = CpuExactLaneTest;
TEST_F(CpuExactLane, GoesOnWithWhatWasSuspended) {
  testing::GoesOnWithWhatWasSuspended({lane_.get(), other_.get()});
}
TEST_F(CpuExactLane, PartsMayBeEmpty) { testing::PartsMayBeEmpty(*lane_); }
TEST_F(CpuExactLane, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*lane_); }

}  // namespace
}  // namespace warpfold
