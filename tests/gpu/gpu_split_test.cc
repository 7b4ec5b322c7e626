// Tensors that lie split over several GPUs. Skips where fewer than two answer.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "server/device/backend/backend.h"
#include "tests/device/split_cases.h"
#include "tests/device/worker_cases.h"

namespace warpfold {
namespace {

class GpuSplitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Devices> devices =
        OpenDevices(Backend::kCuda, {.staging_buffer_bytes = 256 << 10,
                                     .staging_buffers_per_worker = 3,
                                     .scratch_bytes = 64 << 20});
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    if (executors().size() < 2) GTEST_SKIP() << "one GPU answers, not two or more";
  }
  const std::vector<std::unique_ptr<Executor>>& executors() { return devices_.executors; }

  Devices devices_;
};

TEST_F(GpuSplitTest, EveryGpuGivesExactBits) {
  for (const std::unique_ptr<Executor>& executor : executors()) {
    SCOPED_TRACE(executor->info().name);
    testing::GivesExactBitsHoweverTheBytesArrive(**executor->MakeWorker(), 10);
    testing::ReducesTensorsWhereTheyLie(*executor, **executor->MakeWorker(), 5);
  }
}

TEST_F(GpuSplitTest, ReducesToTheBitsOfOneGpu) {
  testing::SplitTensorsReduceToTheBitsOfOneDevice(executors(), 3);
}

TEST_F(GpuSplitTest, SumsThatDoNotFitAreNamedAsOnOneGpu) {
  testing::SplitSumsThatDoNotFitAreNamedAsOnOneDevice(executors());
}

// The current device is a thread's: workers of all GPUs at work in turns on one thread.
TEST_F(GpuSplitTest, OneThreadUsesWorkersOfAllGpusInTurns) {
  std::mt19937_64 random(52);
  std::vector<std::unique_ptr<Worker>> workers;
  for (const std::unique_ptr<Executor>& executor : executors()) {
    workers.push_back(*executor->MakeWorker());
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t gpu = 0; gpu < workers.size(); ++gpu) {
      testing::ExpectExactBits<float>(*workers[gpu],
                                      testing::RandomCase(DType::kF32, 300000, random), random);
      // Memory of another GPU is taken and given back in between.
      const auto other = executors()[(gpu + 1) % workers.size()]->AllocateTensor(1 << 20);
      EXPECT_TRUE(other.ok()) << other.status();
    }
  }
  // Workers go while another GPU is current.
  workers.clear();
}

TEST_F(GpuSplitTest, ManyReductionsAtOnceKeepTheirBits) {
  testing::SplitDevices devices(executors(), {.workers = 4});
  std::mt19937_64 random(53);
  const ReduceSpec spec{
      .dtype = DType::kF32, .shape = {5'000'011}, .ops = {Op::kSum, Op::kVar, Op::kArgMax}};
  const std::vector<float> elements = testing::RandomElements<float>(5'000'011, random);
  const auto bytes = absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                                    elements.size() * sizeof(float));
  const std::string id = devices.Put(DType::kF32, spec.shape, bytes, random);
  ASSERT_EQ(devices.ShardCount(id), executors().size());
  const std::unique_ptr<Worker> worker = *executors()[0]->MakeWorker();
  const auto whole = testing::Upload(*executors()[0], *worker, bytes, random);
  const Plan plan = *MakePlan(spec);
  const absl::StatusOr<Outcome> expected = worker->Reduce(plan, whole->data());
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const absl::StatusOr<Outcome> outcome = devices.Reduce(id, plan);
        ASSERT_TRUE(outcome.ok()) << outcome.status();
        EXPECT_EQ(outcome->results, expected->results);
      }
    });
  }
}

}  // namespace
}  // namespace warpfold
