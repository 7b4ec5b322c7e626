#include "server/core/known_answer.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "gtest/gtest.h"
#include "server/device/cpu/cpu_executor.h"
#include "tests/kernels/tensors.h"
#include "tests/server/faulty_device.h"

namespace warpfold {
namespace {

std::unique_ptr<DeviceScheduler> Make(Executor& device) {
  return *DeviceScheduler::Create(device, {.lanes = 1});
}

TEST(KnownAnswerTest, IsWhatTheCanonicalOrderSays) {
  const ReduceSpec question = KnownQuestion();
  const Plan plan = *MakePlan(question);
  const std::vector<std::string> expected =
      testing::ExpectedResults<double>(plan, question, KnownElements());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t at = 0; at < expected[i].size(); at += 8) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, expected[i].data() + at, 8);
      EXPECT_EQ(KnownAnswer()[i].substr(at, 8), expected[i].substr(at, 8))
          << Name(question.ops[i]) << " should be 0x" << std::hex << bits;
    }
  }
}

TEST(KnownAnswerTest, ASumInAnotherOrderHasOtherBits) {
  const std::vector<double> elements = KnownElements();
  const std::size_t columns = static_cast<std::size_t>(KnownQuestion().shape[1]);
  for (std::size_t row = 0; row < 2; ++row) {
    const double* begin = elements.data() + row * columns;
    const double in_a_row = std::accumulate(begin, begin + columns, 0.0);
    double canonical = 0;
    std::memcpy(&canonical, KnownAnswer()[0].data() + 8 * row, 8);
    EXPECT_NE(in_a_row, canonical);
    EXPECT_NEAR(in_a_row, canonical, 1e-6 * std::abs(canonical) + 1e-3);
  }
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
