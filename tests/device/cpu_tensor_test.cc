#include <gtest/gtest.h>

#include <limits>

#include "server/device/backend/backend.h"
#include "tests/device/tensor_cases.h"

namespace warpfold {
namespace {

class CpuTensorTest : public ::testing::Test {
 protected:
  static constexpr WorkerOptions kOptions{.staging_buffer_bytes = 64 << 10,
                                          .staging_buffers_per_worker = 2,
                                          .scratch_bytes = 192 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  Executor& executor_ = *devices_.executors[0];
  std::unique_ptr<Worker> worker_ = *executor_.MakeWorker();
};

TEST_F(CpuTensorTest, ReducesTensorsWhereTheyLie) {
  testing::ReducesTensorsWhereTheyLie(executor_, *worker_, 20);
}
TEST_F(CpuTensorTest, ReducesATensorLargerThanASegment) {
  testing::ReducesATensorLargerThanASegment(executor_, *worker_);
}
TEST_F(CpuTensorTest, RefusedReductionsLeaveTheTensorAndTheWorker) {
  testing::RefusedReductionsLeaveTheTensorAndTheWorker(executor_, *worker_);
}
TEST_F(CpuTensorTest, AnAbandonedWriteLeavesTheRest) {
  testing::AnAbandonedWriteLeavesTheRest(executor_, *worker_);
}
TEST_F(CpuTensorTest, WorkersShareATensor) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(*executor_.MakeWorker());
  testing::WorkersShareATensor(executor_, workers);
}

TEST_F(CpuTensorTest, MemoryThatTheSystemDoesNotHaveIsRefused) {
  EXPECT_EQ(executor_.AllocateTensor(std::size_t{1} << 60).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace warpfold
