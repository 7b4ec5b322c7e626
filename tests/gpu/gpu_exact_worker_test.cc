// A GPU's workers against the CPU's kernels, on elements as hard as they come.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "server/device/backend/backend.h"
#include "tests/device/exact_cases.h"
#include "tests/device/exact_part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/gpu/overlaps_passes.h"
#include "tests/kernels/effort.h"

namespace warpfold {
namespace {

class GpuExactWorker : public ::testing::Test {
 protected:
  static WorkerOptions OptionsOf(std::size_t staging_buffer_bytes) {
    return {.staging_buffer_bytes = staging_buffer_bytes,
            .staging_buffers_per_worker = 3,
            .scratch_bytes = 256 << 20,
            .overlaps_passes = TestsOverlapPasses()};
  }

  void Open(std::size_t staging_buffer_bytes) {
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, OptionsOf(staging_buffer_bytes));
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = *devices_.executors[0]->MakeWorker();
    other_ = *devices_.executors[0]->MakeWorker();
  }

  Devices devices_;
  std::unique_ptr<Worker> worker_, other_;
};

class GpuExactWorkerTest : public GpuExactWorker,
                           public ::testing::WithParamInterface<std::tuple<DType, std::size_t>> {
 protected:
  void SetUp() override { Open(std::get<1>(GetParam())); }
};

TEST_P(GpuExactWorkerTest, AnswersExactly) {
  const DType dtype = std::get<0>(GetParam());
  testing::AnswersExactly(*devices_.executors[0], *worker_, dtype, testing::Rounds(150), 300);
  testing::AnswersExactly(*devices_.executors[0], *worker_, dtype, testing::Rounds(60), 60'000);
}

TEST_P(GpuExactWorkerTest, SumsAllOfALargeTensor) {
  const DType dtype = std::get<0>(GetParam());
  for (const std::int64_t mib : {1, 16}) {
    testing::SumsAllOfATensor(*devices_.executors[0], *worker_, dtype, mib << 20);
  }
}

// The values are the same bytes as a CPU's.
TEST_P(GpuExactWorkerTest, PartsJoinToTheWhole) {
  const DType dtype = std::get<0>(GetParam());
  Devices host = *OpenDevices(Backend::kCpu, OptionsOf(std::get<1>(GetParam())));
  const std::unique_ptr<Worker> cpu = *host.executors[0]->MakeWorker();
  for (const std::int64_t elements : {300, 60'000}) {
    testing::PartsJoinToTheWhole(*devices_.executors[0], *worker_, *cpu, dtype, testing::Rounds(60),
                                 elements);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuExactWorkerTest,
                         ::testing::Combine(::testing::ValuesIn(kAllDTypes),
                                            ::testing::Values(std::size_t{64} << 10,
                                                              std::size_t{4} << 20)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_F(GpuExactWorker, GoesOnWithWhatWasSuspended) {
  Open(64 << 10);
  if (IsSkipped()) return;
  testing::GoesOnWithWhatWasSuspended({worker_.get(), other_.get()});
}

}  // namespace
}  // namespace warpfold
