// Which CUDA errors say that a GPU is lost: those that come again, and no others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "server/device/backend/backend.h"
#include "server/device/device_error.h"
#include "tests/device/worker_cases.h"

namespace warpfold {
namespace {

class GpuErrorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, {});
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = *devices_.executors[0]->MakeWorker();
  }

  // Of memory that is none.
  absl::Status ReduceNowhere() {
    const Plan plan =
        *MakePlan({.dtype = DType::kF32, .shape = {1 << 20}, .ops = {Op::kSum}, .axes = {}});
    return worker_->Reduce(plan, reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 44))
        .status();
  }

  Devices devices_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(GpuErrorTest, ACallThatFailsAloneLosesNoGpu) {
  ASSERT_TRUE(worker_->BeginWrite(nullptr, 4).ok());
  ASSERT_TRUE(worker_->Buffer().ok());
  const absl::Status refused = worker_->Commit(4);  // no address of the GPU's
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal) << refused;
  EXPECT_FALSE(IsDeviceLost(refused));
  worker_->Abandon();
  testing::GivesExactBitsHoweverTheBytesArrive(*worker_, 5);
}

// In a process of its own, which has no GPU any more afterwards.
TEST_F(GpuErrorTest, AnErrorThatComesAgainLosesTheGpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const absl::Status first = ReduceNowhere();
        const absl::Status second = ReduceNowhere();
        std::cerr << first << "\n" << second << "\n";
        std::_Exit(IsDeviceLost(first) && IsDeviceLost(second) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "cudaErrorIllegalAddress");
}

}  // namespace
}  // namespace warpfold
