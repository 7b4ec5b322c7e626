// Every large allocation of a reduction fails once, by an operator new of this test's own: the
// request is refused, nothing stays held, and the worker gives the next one its right bits.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/splitting/shard_reduce.h"
#include "server/device/backend/backend.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/merge.h"
#include "tests/device/host_budget.h"
#include "tests/device/part_cases.h"
#include "tests/device/worker_cases.h"

namespace {

// So many large allocations succeed from now on, and the next does not; negative: all do.
std::atomic<int> large_left{-1};
std::atomic<bool> has_failed{false};
// The one that failed would have ended the server: its thread was not prepared (out_of_memory.h).
std::atomic<bool> ends_server{false};

}  // namespace

// Not inlined, which GCC takes for pairs that do not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (bytes >= warpfold::kLargeBytes && large_left.load() >= 0 && large_left.fetch_sub(1) == 0) {
    has_failed = true;
    if (!warpfold::BadAllocScope::IsOpen()) ends_server = true;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1); memory != nullptr) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace warpfold {
namespace {

using testing::UsedHostBytes;

class AllocationTest : public ::testing::Test {
 protected:
  // Runs `request` until it meets no failure more; how many it met, each of which refused it.
  int Failures(const std::function<absl::Status()>& request) {
    for (int failures = 0;; ++failures) {
      const std::int64_t used = UsedHostBytes();
      has_failed = false;
      large_left = failures;
      const absl::Status status = request();
      large_left = -1;
      EXPECT_EQ(UsedHostBytes(), used) << "failure " << failures;
      if (!has_failed) {
        EXPECT_TRUE(status.ok()) << status;
        return failures;
      }
      EXPECT_FALSE(ends_server) << "failure " << failures;
      EXPECT_TRUE(IsNoHostMemory(status)) << "failure " << failures << ": " << status;
      ExpectServes();
      if (HasFailure()) return failures;
    }
  }

  void ExpectServes() {
    std::mt19937_64 random(7);
    testing::Case c;
    c.spec = {.dtype = DType::kF32, .shape = {3, 1000}, .ops = {Op::kSum, Op::kVar}, .axes = {1}};
    testing::ExpectExactBits<float>(*worker_, c, random);
  }

  // The failures of the reduction of `spec`, whose elements are float32 zeros.
  int FailuresOf(const ReduceSpec& spec) {
    const Plan plan = *MakePlan(spec);
    const std::vector<char> data(static_cast<std::size_t>(plan.input_bytes));
    std::mt19937_64 random(7);
    return Failures([&] {
      const absl::Status status = testing::Feed(*worker_, plan, data.data(), random).status();
      if (!status.ok()) worker_->Abandon();  // as core/worker_run.cc does
      return status;
    });
  }

  Devices devices_ = *OpenDevices(Backend::kCpu, {.staging_buffer_bytes = std::size_t{1} << 20});
  std::unique_ptr<Worker> worker_ = *devices_.executors[0]->MakeWorker();
};

TEST_F(AllocationTest, ResultsOfEachOp) {
  EXPECT_EQ(FailuresOf({.dtype = DType::kF32,
                        .shape = {1 << 15, 2},
                        .ops = {Op::kSum, Op::kMax, Op::kNanCount},
                        .axes = {1}}),
            3);
}

TEST_F(AllocationTest, ResultsOfNothing) {
  EXPECT_EQ(
      FailuresOf(
          {.dtype = DType::kF32, .shape = {1 << 15, 0}, .ops = {Op::kSum, Op::kProd}, .axes = {1}}),
      2);
}

// The kernels' own, in the worker's thread and in tasks of oneTBB's.
TEST_F(AllocationTest, PartialsOfColumns) {
  EXPECT_GT(FailuresOf({.dtype = DType::kF32,
                        .shape = {256, 4096},
                        .ops = {Op::kSum, Op::kVar, Op::kMin, Op::kArgMax},
                        .axes = {0}}),
            0);
}

TEST_F(AllocationTest, AResidentTensor) {
  const Plan plan = *MakePlan({.dtype = DType::kF32,
                               .shape = {2000, 4096},
                               .ops = {Op::kSum, Op::kVar, Op::kMin, Op::kArgMax},
                               .axes = {0}});
  const std::vector<std::byte> data(static_cast<std::size_t>(plan.input_bytes));
  EXPECT_GT(Failures([&] { return worker_->Reduce(plan, data.data()).status(); }), 0);
}

// Its values, and all of it merged, to values and to results.
TEST_F(AllocationTest, APartAndItsMerge) {
  const ReduceSpec spec{
      .dtype = DType::kF32, .shape = {24, 1 << 14}, .ops = {Op::kSum, Op::kVar}, .axes = {0}};
  const Plan whole = *MakePlan(spec);
  const Part part = testing::PartOf(spec, whole, BoxOf(whole));
  const std::string bytes(static_cast<std::size_t>(whole.input_bytes), '\0');
  EXPECT_GT(Failures([&] {
              const int armed = large_left.exchange(-1);
              testing::MemoryTask task(PlanOf(part), bytes);
              large_left = armed;
              return RunOnWorker(*worker_, task, std::chrono::steady_clock::now()).outcome.status();
            }),
            0);
  const std::vector<std::string> values =
      *testing::RunTask(*worker_, testing::MemoryTask(PlanOf(part), bytes));
  const std::vector<PartValues> parts{{part.box, {values.begin(), values.end()}}};
  EXPECT_GT(Failures([&] { return MergeToValues(whole, parts).status(); }), 0);
  EXPECT_GT(Failures([&] { return MergeToResults(whole, parts).status(); }), 0);
}

// The same by the budget: all that it does not cover is refused, before the payload is read.
TEST_F(AllocationTest, APartWithoutABudget) {
  const ReduceSpec spec{
      .dtype = DType::kF32, .shape = {3000, 40}, .ops = {Op::kSum, Op::kVar}, .axes = {1}};
  const ReduceSpec deep{
      .dtype = DType::kF32, .shape = {64, 24, 512}, .ops = {Op::kSum, Op::kVar}, .axes = {1}};
  for (const ReduceSpec& tried : {spec, deep}) {
    const Plan whole = *MakePlan(tried);
    const Part part = testing::PartOf(tried, whole, BoxOf(whole));
    const std::string bytes(static_cast<std::size_t>(whole.input_bytes), '\0');
    const std::int64_t used = UsedHostBytes();
    for (std::int64_t left = 0;; left += std::int64_t{16} << 10) {
      ASSERT_LT(left, std::int64_t{64} << 20);
      const testing::LeftInBudget budget(left);
      const absl::Status status =
          testing::RunTask(*worker_, testing::MemoryTask(PlanOf(part), bytes)).status();
      EXPECT_EQ(UsedHostBytes(), used);
      if (status.ok()) break;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    }
    ExpectServes();
  }
}

TEST_F(AllocationTest, TheResultsOfShardsJoined) {
  const Plan whole = *MakePlan(
      {.dtype = DType::kF32, .shape = {1 << 15, 2}, .ops = {Op::kSum, Op::kMax}, .axes = {1}});
  std::vector<ShardResults> shards(2);
  for (ShardResults& shard : shards) shard.values.assign(2, std::string(1 << 16, 'x'));
  const auto join = [&] { return JoinShards(*worker_, whole, absl::MakeSpan(shards)).status(); };
  EXPECT_GT(Failures(join), 0);
}

}  // namespace
}  // namespace warpfold
