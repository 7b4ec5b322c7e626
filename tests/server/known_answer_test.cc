#include "server/core/self_test/known_answer.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/scheduling/device_scheduler.h"
#include "server/device/cpu/cpu_executor.h"
#include "tests/kernels/tensors.h"
#include "tests/server/fake_device.h"
#include "tests/server/faulty_device.h"

namespace warpfold {
namespace {

std::unique_ptr<DeviceScheduler> Make(Executor& device) {
  return *DeviceScheduler::Create(device, {.workers = 1});
}

std::vector<double> Doubles(const std::string& bytes) {
  std::vector<double> elements(bytes.size() / sizeof(double));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

TEST(KnownAnswerTest, AWideOneIsRoundedOnce) {
  for (const auto& [question, bytes, answer] : KnownWideReductions()) {
    const Plan plan = *MakePlan(question);
    const std::vector<std::string> expected =
        testing::ExpectedResults<double>(question, Doubles(*bytes));
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

TEST(KnownAnswerTest, ASumOfFloat64AdditionsHasOtherBits) {
  for (const auto& [question, bytes, answer] : KnownWideReductions()) {
    const std::int64_t columns = question.shape[1];
    const std::vector<double> elements = Doubles(*bytes);
    for (std::int64_t row = 0; row < 2; ++row) {
      const double* begin = elements.data() + row * columns;
      const double in_a_row = std::accumulate(begin, begin + columns, 0.0);
      double exact = 0;
      std::memcpy(&exact, answer[0].data() + 8 * row, 8);
      EXPECT_NE(in_a_row, exact);
      EXPECT_NEAR(in_a_row, exact, 1e-6 * std::abs(exact) + 1e-3);
    }
  }
}

TEST(KnownAnswerTest, AskForEveryOpAndEveryFusionOfEveryDtype) {
  for (const DType dtype : kAllDTypes) {
    std::set<Op> ops;
    std::set<FusedOpSet> op_sets;
    for (const KnownReduction& known : KnownReductions(dtype)) {
      const Plan plan = *MakePlan(known.question);
      EXPECT_EQ(std::ssize(*known.elements), plan.input_bytes);
      ops.insert(known.question.ops.begin(), known.question.ops.end());
      op_sets.insert(plan.fused_op_set());
    }
    EXPECT_EQ(std::ssize(ops), kOpCount) << Name(dtype);
    EXPECT_EQ(op_sets.size(), IsFloat(dtype) ? 9U : 8U) << Name(dtype);
  }
}

// The other tests' oracle has its own way to every answer.
TEST(KnownAnswerTest, AreWhatTheReferenceSays) {
  for (const DType dtype : kAllDTypes) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const KnownReduction& known : KnownReductions(dtype)) {
        std::vector<T> elements(known.elements->size() / sizeof(T));
        std::memcpy(elements.data(), known.elements->data(), known.elements->size());
        const Plan plan = *MakePlan(known.question);
        const std::vector<std::string> expected =
            testing::ExpectedResults<T>(known.question, elements);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(absl::BytesToHexString(known.answer[i]), absl::BytesToHexString(expected[i]))
              << Name(dtype) << ' ' << Name(known.question.ops[i]) << " of "
              << known.question.shape[1];
        }
      }
    });
  }
}

// A device whose workers are right, and whose batches are not.
class WrongInBatches final : public Executor {
 public:
  WrongInBatches() {
    batches_.fake_batches().BatchUpTo(64 << 10, {.tensors = 8, .bytes = 1 << 20});
  }
  const DeviceInfo& info() const override { return workers_.info(); }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override { return workers_.MakeWorker(); }
  BatchLimits batch_limits() const override { return batches_.batch_limits(); }
  bool Batches(const Plan& plan) const override { return batches_.Batches(plan); }
  absl::StatusOr<std::unique_ptr<BatchWorker>> MakeBatchWorker() override {
    return batches_.MakeBatchWorker();
  }

 private:
  CpuExecutor workers_{{.staging_buffer_bytes = 64 << 10}};
  FakeDevice batches_;  // adds up integers
};

TEST(KnownAnswerTest, AWrongBitOfABatchIsFoundToo) {
  WrongInBatches device;
  EXPECT_EQ(CheckKnownAnswers(*Make(device), DType::kF64).code(), absl::StatusCode::kInternal);
}

TEST(KnownAnswerTest, AreGivenByTheCpu) {
  CpuExecutor cpu({.staging_buffer_bytes = 64 << 10});
  const std::unique_ptr<DeviceScheduler> device = Make(cpu);
  for (const DType dtype : kAllDTypes) {
    const absl::Status status = CheckKnownAnswers(*device, dtype);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(KnownAnswerTest, AWrongBitIsFoundInEveryDtypeWhichIsNamed) {
  FaultyDevice device("cuda:7");
  device.FlipABit();
  for (const DType dtype : kAllDTypes) {
    const absl::Status status = CheckKnownAnswers(*Make(device), dtype);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(std::string(status.message()),
              absl::StrCat("self-test ", Name(dtype),
                           ": sum of 20012 elements has other bits than the known"));
  }
}

TEST(KnownAnswerTest, ALostDeviceIsUnavailable) {
  FaultyDevice device("cuda:7");
  device.Lose();
  EXPECT_EQ(CheckKnownAnswers(*Make(device), DType::kI8).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace warpfold
