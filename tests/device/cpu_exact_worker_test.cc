// The CPU's workers against its kernels, on elements as hard as they come.
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

class CpuExactWorkerTest : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr WorkerOptions kOptions{.staging_buffer_bytes = 64 << 10,
                                          .staging_buffers_per_worker = 2,
                                          .scratch_bytes = 256 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  std::unique_ptr<Worker> worker_ = *devices_.executors[0]->MakeWorker();
  std::unique_ptr<Worker> other_ = *devices_.executors[0]->MakeWorker();
};

TEST_P(CpuExactWorkerTest, AnswersExactly) {
  testing::AnswersExactly(*devices_.executors[0], *worker_, GetParam(), testing::Rounds(40),
                          60'000);
}

TEST_P(CpuExactWorkerTest, PartsJoinToTheWhole) {
  testing::PartsJoinToTheWhole(*devices_.executors[0], *worker_, *other_, GetParam(),
                               testing::Rounds(30), 10'000);
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, CpuExactWorkerTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

using CpuExactWorker = CpuExactWorkerTest;
TEST_F(CpuExactWorker, GoesOnWithWhatWasSuspended) {
  testing::GoesOnWithWhatWasSuspended({worker_.get(), other_.get()});
}
TEST_F(CpuExactWorker, PartsMayBeEmpty) { testing::PartsMayBeEmpty(*worker_); }
TEST_F(CpuExactWorker, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*worker_); }

}  // namespace
}  // namespace warpfold
