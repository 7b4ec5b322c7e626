#include "server/core/known_answer.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "gtest/gtest.h"
#include "server/device/cpu/cpu_executor.h"
#include "tests/kernels/tensors.h"
#include "tests/server/fake_device.h"
#include "tests/server/faulty_device.h"

namespace warpfold {
namespace {

std::unique_ptr<DeviceScheduler> Make(Executor& device) {
  return *DeviceScheduler::Create(device, {.lanes = 1});
}

TEST(KnownAnswerTest, IsWhatTheCanonicalOrderSays) {
  for (const auto& [question, answer] : KnownReductions()) {
    const Plan plan = *MakePlan(question);
    const std::vector<std::string> expected =
        testing::ExpectedResults<double>(plan, question, KnownElements(plan.element_count));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t at = 0; at < expected[i].size(); at += 8) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, expected[i].data() + at, 8);
        EXPECT_EQ(answer[i].substr(at, 8), expected[i].substr(at, 8))
            << Name(question.ops[i]) << " should be 0x" << std::hex << bits;
      }
    }
  }
}

TEST(KnownAnswerTest, ASumInAnotherOrderHasOtherBits) {
  for (const auto& [question, answer] : KnownReductions()) {
    const std::int64_t columns = question.shape[1];
    const std::vector<double> elements = KnownElements(2 * columns);
    for (std::int64_t row = 0; row < 2; ++row) {
      const double* begin = elements.data() + row * columns;
      const double in_a_row = std::accumulate(begin, begin + columns, 0.0);
      double canonical = 0;
      std::memcpy(&canonical, answer[0].data() + 8 * row, 8);
      EXPECT_NE(in_a_row, canonical);
      EXPECT_NEAR(in_a_row, canonical, 1e-6 * std::abs(canonical) + 1e-3);
    }
  }
}

// A device whose lanes are right, and whose batches are not.
class WrongInBatches final : public Executor {
 public:
  WrongInBatches() {
    batches_.fake_batches().BatchUpTo(64 << 10, {.tensors = 8, .bytes = 1 << 20});
  }
  const DeviceInfo& info() const override { return lanes_.info(); }
  absl::StatusOr<std::unique_ptr<Lane>> MakeLane() override { return lanes_.MakeLane(); }
  BatchLimits batch_limits() const override { return batches_.batch_limits(); }
  bool Batches(const Plan& plan) const override { return batches_.Batches(plan); }
  absl::StatusOr<std::unique_ptr<BatchLane>> MakeBatchLane() override {
    return batches_.MakeBatchLane();
  }

 private:
  CpuExecutor lanes_{{.slab_bytes = 64 << 10}};
  FakeDevice batches_;  // adds up integers
};

TEST(KnownAnswerTest, AWrongBitOfABatchIsFoundToo) {
  WrongInBatches device;
  EXPECT_EQ(CheckKnownAnswer(*Make(device)).code(), absl::StatusCode::kInternal);
}

TEST(KnownAnswerTest, IsGivenByTheCpu) {
  CpuExecutor cpu({.slab_bytes = 64 << 10});
  EXPECT_TRUE(CheckKnownAnswer(*Make(cpu)).ok()) << CheckKnownAnswer(*Make(cpu));
}

TEST(KnownAnswerTest, AWrongBitIsFoundAndTheDeviceNamed) {
  FaultyDevice device("cuda:7");
  device.FlipABit();
  const absl::Status status = CheckKnownAnswer(*Make(device));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()).rfind("cuda:7: ", 0), 0U) << status;
}

TEST(KnownAnswerTest, ALostDeviceIsNamed) {
  FaultyDevice device("cuda:7");
  device.Lose();
  const absl::Status status = CheckKnownAnswer(*Make(device));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()).rfind("cuda:7: ", 0), 0U) << status;
}

}  // namespace
}  // namespace warpfold
