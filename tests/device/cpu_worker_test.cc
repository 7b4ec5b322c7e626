#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "server/device/backend/backend.h"
#include "tests/device/edge_cases.h"
#include "tests/device/golden_cases.h"
#include "tests/device/part_cases.h"
#include "tests/device/suspend_cases.h"
#include "tests/device/worker_cases.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

class CpuWorkerTest : public ::testing::Test {
 protected:
  static constexpr WorkerOptions kOptions{.staging_buffer_bytes = 64 << 10,
                                          .staging_buffers_per_worker = 2,
                                          .scratch_bytes = 256 << 20};
  Devices devices_ = *OpenDevices(Backend::kCpu, kOptions);
  std::unique_ptr<Worker> worker_ = *devices_.executors[0]->MakeWorker();
  std::unique_ptr<Worker> other_ = *devices_.executors[0]->MakeWorker();
};

TEST_F(CpuWorkerTest, GivesExactBitsHoweverTheBytesArrive) {
  testing::GivesExactBitsHoweverTheBytesArrive(*worker_, 60);
}
TEST_F(CpuWorkerTest, AnswersAsEver) { testing::AnswersAsEver(*worker_); }
TEST_F(CpuWorkerTest, AnswersEmptyTensors) { testing::AnswersEmptyTensors(*worker_); }
TEST_F(CpuWorkerTest, CountsWhatItDid) {
  testing::CountsWhatItDid(*devices_.executors[0], *worker_, false);
}
TEST_F(CpuWorkerTest, RefusesSumsThatDoNotFit) { testing::RefusesSumsThatDoNotFit(*worker_); }
TEST_F(CpuWorkerTest, AnswersWhereAllElementsAreNan) {
  testing::AnswersWhereAllElementsAreNan(*worker_);
}
TEST_F(CpuWorkerTest, FindsExtremaBesideTilesOfNan) {
  testing::FindsExtremaBesideTilesOfNan(*worker_);
}
TEST_F(CpuWorkerTest, SumsRowsWithInfinities) { testing::SumsRowsWithInfinities(*worker_); }
TEST_F(CpuWorkerTest, AnswersWhereTheCorrectionLeavesNoDivisor) {
  testing::AnswersWhereTheCorrectionLeavesNoDivisor(*worker_);
}
TEST_F(CpuWorkerTest, RefusesIntegersThatDoNotFitAndOverflowsFloats) {
  testing::RefusesIntegersThatDoNotFitAndOverflowsFloats(*worker_);
}
TEST_F(CpuWorkerTest, GoesOnWithWhatWasSuspended) {
  testing::GoesOnWithWhatWasSuspended({worker_.get(), other_.get()});
}
TEST_F(CpuWorkerTest, KeepsASuspendedOverflowToItself) {
  testing::KeepsASuspendedOverflowToItself({worker_.get(), other_.get()});
}
TEST_F(CpuWorkerTest, GoesOnWithASuspendedWrite) {
  testing::GoesOnWithASuspendedWrite(*devices_.executors[0], {worker_.get(), other_.get()});
}
TEST_F(CpuWorkerTest, DropsWhatStaysSuspended) { testing::DropsWhatStaysSuspended(*worker_); }
TEST_F(CpuWorkerTest, ServesTheNextRequestAfterAbandon) {
  testing::ServesTheNextRequestAfterAbandon(*worker_);
}
TEST_F(CpuWorkerTest, AnAbandonedOverflowIsForgotten) {
  testing::AnAbandonedOverflowIsForgotten(*worker_);
}
TEST_F(CpuWorkerTest, RefusesWhatItsScratchCannotHold) {
  testing::RefusesWhatItsScratchCannotHold(*worker_);
}
TEST_F(CpuWorkerTest, RefusesWhatTheBudgetCannotHold) {
  testing::RefusesWhatTheBudgetCannotHold(*worker_);
}
TEST_F(CpuWorkerTest, ScratchOfAsManyBytesAsTheRefusalNamesIsEnough) {
  const Plan plan =
      *MakePlan({.dtype = DType::kF32, .shape = {70, 3001}, .ops = {Op::kSum}, .axes = {1}});
  const auto begun_with = [&plan](std::size_t scratch_bytes) {
    Devices devices = *OpenDevices(Backend::kCpu, {.scratch_bytes = scratch_bytes});
    const std::unique_ptr<Worker> worker = *devices.executors[0]->MakeWorker();
    const absl::Status begun = worker->Begin(plan);
    worker->Abandon();
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
TEST_F(CpuWorkerTest, GivesTheSameBitsOnAnyNumberOfThreads) {
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
            testing::ExpectExactBits<typename decltype(tag)::type>(*worker_, c, random);
          });
        }
      }
    });
  }
}
TEST_F(CpuWorkerTest, PartsMergeToTheWhole) { testing::PartsMergeToTheWhole(*worker_, 40); }
TEST_F(CpuWorkerTest, PartsOfManyPlanesMergeToTheWhole) {
  testing::PartsOfManyPlanesMergeToTheWhole(*worker_);
}
// The same worker, with another staging buffer: segments of other sizes.
TEST_F(CpuWorkerTest, LeavesTheSameValuesHoweverLargeItsStagingBufferIs) {
  const WorkerOptions large{
      .staging_buffer_bytes = 4 << 20, .staging_buffers_per_worker = 2, .scratch_bytes = 256 << 20};
  Devices devices = *OpenDevices(Backend::kCpu, large);
  testing::LeavesTheSameValues(*worker_, **devices.executors[0]->MakeWorker(), 20);
}

}  // namespace
}  // namespace warpfold
