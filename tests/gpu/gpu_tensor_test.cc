// Resident tensors in a GPU's memory: written through the workers' staging buffers, reduced where
// they lie.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "server/device/backend/backend.h"
#include "tests/device/tensor_cases.h"

namespace warpfold {
namespace {

class GpuTensorTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { Open(28 << 20); }
  void Open(std::size_t scratch_bytes) {
    worker_ = nullptr;
    devices_.executors.clear();
    absl::StatusOr<Devices> devices =
        OpenDevices(Backend::kCuda, {.staging_buffer_bytes = GetParam(),
                                     .staging_buffers_per_worker = 3,
                                     .scratch_bytes = scratch_bytes});
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = *executor().MakeWorker();
  }
  Executor& executor() { return *devices_.executors[0]; }

  Devices devices_;
  std::unique_ptr<Worker> worker_;
};

TEST_P(GpuTensorTest, ReducesTensorsWhereTheyLie) {
  testing::ReducesTensorsWhereTheyLie(executor(), *worker_, 20);
}
TEST_P(GpuTensorTest, ReducesATensorLargerThanASegment) {
  testing::ReducesATensorLargerThanASegment(executor(), *worker_);
}
TEST_P(GpuTensorTest, RefusedReductionsLeaveTheTensorAndTheWorker) {
  testing::RefusedReductionsLeaveTheTensorAndTheWorker(executor(), *worker_);
}
TEST_P(GpuTensorTest, AnAbandonedWriteLeavesTheRest) {
  testing::AnAbandonedWriteLeavesTheRest(executor(), *worker_);
}
TEST_P(GpuTensorTest, WorkersShareATensor) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(*executor().MakeWorker());
  testing::WorkersShareATensor(executor(), workers);
}

// Tall columns whose partial states, folded at once, take more than 8 MiB, and less in segments.
TEST_P(GpuTensorTest, ScratchMemoryThatIsShortTakesSmallerSegmentsAndTheSameBits) {
  const Plan plan = *MakePlan({.dtype = DType::kU8,
                               .shape = {65536, 2000},
                               .ops = {Op::kVar, Op::kMin, Op::kMax, Op::kSum, Op::kArgMax,
                                       Op::kArgMin, Op::kL2Norm, Op::kCountNonzero},
                               .axes = {0}});
  std::vector<std::byte> bytes(static_cast<std::size_t>(plan.input_bytes));
  std::mt19937_64 random(48);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::vector<std::vector<std::string>> results;
  for (const std::size_t scratch_bytes : {std::size_t{256} << 20, std::size_t{8} << 20}) {
    Open(scratch_bytes);
    const auto memory = testing::Upload(executor(), *worker_, bytes, random);
    absl::StatusOr<Outcome> outcome = worker_->Reduce(plan, memory->data());
    ASSERT_TRUE(outcome.ok()) << scratch_bytes << ": " << outcome.status();
    results.push_back(std::move(outcome->results));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_P(GpuTensorTest, MemoryThatTheGpuDoesNotHaveIsRefusedAndTheNextIsThere) {
  const std::size_t half = static_cast<std::size_t>(executor().info().memory_bytes) / 2;
  {
    const auto held = executor().AllocateTensor(std::size_t{1} << 30);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_EQ(executor().AllocateTensor(4 * half).status().code(),
              absl::StatusCode::kResourceExhausted);
    testing::ReducesATensorLargerThanASegment(executor(), *worker_);
  }
  // In segments that do not fit one another: what the pool keeps has to be given back for the next.
  for (const std::size_t bytes : {half, half + (std::size_t{1} << 30), half}) {
    const auto memory = executor().AllocateTensor(bytes);
    EXPECT_TRUE(memory.ok()) << bytes << ": " << memory.status();
  }
}

INSTANTIATE_TEST_SUITE_P(StagingBufferBytes, GpuTensorTest,
                         ::testing::Values(std::size_t{64} << 10, std::size_t{4} << 20),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace warpfold
