// The CUDA workers do what every Worker must do, alone and side by side.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/device/backend/backend.h"
#include "tests/device/edge_cases.h"
#include "tests/device/golden_cases.h"
#include "tests/device/part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/device/worker_cases.h"
#include "tests/gpu/overlaps_passes.h"

namespace warpfold {
namespace {

class GpuWorkerTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    options_.staging_buffer_bytes = GetParam();
    options_.staging_buffers_per_worker = 3;
    options_.scratch_bytes = 256 << 20;
    options_.overlaps_passes = TestsOverlapPasses();
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, options_);
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = MakeWorker();
  }
  std::unique_ptr<Worker> MakeWorker() { return *devices_.executors[0]->MakeWorker(); }

  WorkerOptions options_;
  Devices devices_;
  std::unique_ptr<Worker> worker_;
};

TEST_P(GpuWorkerTest, GivesExactBitsHoweverTheBytesArrive) {
  testing::GivesExactBitsHoweverTheBytesArrive(*worker_, 60);
}
TEST_P(GpuWorkerTest, AnswersAsEver) { testing::AnswersAsEver(*worker_); }
TEST_P(GpuWorkerTest, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*worker_); }
TEST_P(GpuWorkerTest, CountsWhatItDid) {
  testing::CountsWhatItDid(*devices_.executors[0], *worker_, true);
}
TEST_P(GpuWorkerTest, RefusesSumsThatDoNotFit) { testing::RefusesSumsThatDoNotFit(*worker_); }
TEST_P(GpuWorkerTest, AnswersWhereAllElementsAreNan) {
  testing::AnswersWhereAllElementsAreNan(*worker_);
}
TEST_P(GpuWorkerTest, FindsExtremaBesideTilesOfNan) {
  testing::FindsExtremaBesideTilesOfNan(*worker_);
}
TEST_P(GpuWorkerTest, SumsRowsWithInfinities) { testing::SumsRowsWithInfinities(*worker_); }
TEST_P(GpuWorkerTest, AnswersWhereTheCorrectionLeavesNoDivisor) {
  testing::AnswersWhereTheCorrectionLeavesNoDivisor(*worker_);
}
TEST_P(GpuWorkerTest, RefusesIntegersThatDoNotFitAndOverflowsFloats) {
  testing::RefusesIntegersThatDoNotFitAndOverflowsFloats(*worker_);
}
TEST_P(GpuWorkerTest, GoesOnWithWhatWasSuspended) {
  const std::unique_ptr<Worker> other = MakeWorker();
  testing::GoesOnWithWhatWasSuspended({worker_.get(), other.get()});
}
TEST_P(GpuWorkerTest, KeepsASuspendedOverflowToItself) {
  const std::unique_ptr<Worker> other = MakeWorker();
  testing::KeepsASuspendedOverflowToItself({worker_.get(), other.get()});
}
TEST_P(GpuWorkerTest, GoesOnWithASuspendedWrite) {
  const std::unique_ptr<Worker> other = MakeWorker();
  testing::GoesOnWithASuspendedWrite(*devices_.executors[0], {worker_.get(), other.get()});
}
TEST_P(GpuWorkerTest, DropsWhatStaysSuspended) { testing::DropsWhatStaysSuspended(*worker_); }
// Four times the scratch memory of one reduction, for all that clients leave: that many reductions
// at least, and no more results than fit.
TEST_P(GpuWorkerTest, SuspendsNoMoreThanItHasRoomFor) {
  constexpr std::int64_t kRows = 3'000'000;
  const Plan plan =
      *MakePlan({.dtype = DType::kF64, .shape = {kRows, 2}, .ops = {Op::kSum}, .axes = {1}});
  std::vector<std::unique_ptr<Suspended>> suspended;
  absl::Status status;
  while (status.ok()) {
    ASSERT_LT(suspended.size(), 100U);
    ASSERT_TRUE(worker_->Begin(plan).ok());
    absl::StatusOr<std::unique_ptr<Suspended>> next = worker_->Suspend();
    status = next.status();
    if (next.ok()) suspended.push_back(*std::move(next));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GE(suspended.size(), 4U);
  EXPECT_LE(suspended.size() * kRows * sizeof(double), 4 * options_.scratch_bytes);
  suspended.pop_back();
  ASSERT_TRUE(worker_->Begin(plan).ok());
  EXPECT_TRUE(worker_->Suspend().ok());
}
TEST_P(GpuWorkerTest, ServesTheNextRequestAfterAbandon) {
  testing::ServesTheNextRequestAfterAbandon(*worker_);
}
TEST_P(GpuWorkerTest, AnAbandonedOverflowIsForgotten) {
  testing::AnAbandonedOverflowIsForgotten(*worker_);
}
TEST_P(GpuWorkerTest, RefusesWhatItsScratchCannotHold) {
  testing::RefusesWhatItsScratchCannotHold(*worker_);
}
TEST_P(GpuWorkerTest, RefusesWhatTheBudgetCannotHold) {
  testing::RefusesWhatTheBudgetCannotHold(*worker_);
}
TEST_P(GpuWorkerTest, PartsMergeToTheWhole) { testing::PartsMergeToTheWhole(*worker_, 20); }
TEST_P(GpuWorkerTest, PartsOfManyPlanesMergeToTheWhole) {
  testing::PartsOfManyPlanesMergeToTheWhole(*worker_);
}
TEST_P(GpuWorkerTest, LeavesTheValuesThatTheCpuLeaves) {
  Devices cpu = *OpenDevices(Backend::kCpu, options_);
  testing::LeavesTheSameValues(*worker_, **cpu.executors[0]->MakeWorker(), 20);
}

TEST_P(GpuWorkerTest, GivesTheSameBitsOnManyStreamsAtOnce) {
  for (const int streams : {2, 8}) {
    std::vector<std::thread> threads;
    for (int t = 0; t < streams; ++t) {
      threads.emplace_back([this, t] {
        std::unique_ptr<Worker> worker = MakeWorker();
        std::mt19937_64 random(static_cast<std::uint64_t>(t));
        for (int i = 0; i < testing::Rounds(20); ++i) {
          testing::ExpectExactBits<float>(*worker, testing::RandomCase(DType::kF32, 300000, random),
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
    WorkerOptions options{.staging_buffer_bytes = 64 << 10,
                          .staging_buffers_per_worker = 2,
                          .scratch_bytes = 1 << 20};
    if (is_more) options.gpu_scratch_bytes = 0;
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, options);
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    const std::unique_ptr<Worker> worker = *devices->executors[0]->MakeWorker();
    const absl::Status begun = worker->Begin(plan);
    EXPECT_EQ(begun.code(), is_more ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted)
        << begun;
    worker->Abandon();
  }
}

INSTANTIATE_TEST_SUITE_P(StagingBufferBytes, GpuWorkerTest,
                         ::testing::Values(std::size_t{64} << 10, std::size_t{4} << 20),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace warpfold
