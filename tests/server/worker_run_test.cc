// Tasks whose clients are slower than the workers: they take turns, on any worker, and give the
// bits of tasks that are all there.
#include "server/core/scheduling/worker_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/device/cpu/cpu_executor.h"
#include "tests/device/part_cases.h"
#include "tests/device/suspend_cases.h"

namespace warpfold {
namespace {

using Clock = WorkerRun::Clock;

// Of its bytes some are here.
class DrippingTask final : public testing::MemoryTask {
 public:
  DrippingTask(Plan of_tensor, std::string bytes)
      : MemoryTask(std::move(of_tensor), std::move(bytes)) {
    waits_for_client = true;
  }

  void Bring(std::size_t bytes) { here_ = std::min(size(), here_ + bytes); }
  void Fail(absl::Status status) { failure_ = std::move(status); }
  void WaitNoLongerThan(std::chrono::nanoseconds limit) { wait_max_ = limit; }

  absl::Status MayRun(std::chrono::nanoseconds waited) override {
    return waited <= wait_max_ ? absl::OkStatus() : absl::ResourceExhaustedError("too long");
  }

 private:
  bool AwaitBytes(std::size_t byte_count, Clock::time_point /*until*/) override {
    return !failure_.ok() || at() + byte_count <= here_;
  }
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    if (!failure_.ok()) return failure_;
    if (at() + out.size() > here_) return absl::InternalError("read what is not here");
    return MemoryTask::ReadInto(out);
  }

  std::size_t here_ = 0;
  std::chrono::nanoseconds wait_max_ = std::chrono::nanoseconds::max();
  absl::Status failure_;
};

class WorkerRunTest : public ::testing::Test {
 protected:
  Worker& AnyWorker() { return *workers_[random_() % workers_.size()]; }

  // As its bytes come, a few segments or less at a time.
  TaskReport RunInTurns(DrippingTask& task, int* turns) {
    WorkerRun run(task, Clock::now());
    for (*turns = 1; !run.Turn(AnyWorker(), Patience::kOthersWait); ++*turns) {
      EXPECT_GT(run.awaited_bytes(), 0U);
      task.Bring(random_() % (3 * run.awaited_bytes()));
      run.WaitsSince(Clock::now());
    }
    return run.TakeReport();
  }

  std::mt19937_64 random_{33};
  CpuExecutor executor_{{.staging_buffer_bytes = 64 << 10, .scratch_bytes = 64 << 20}};
  std::vector<std::unique_ptr<Worker>> workers_ = [this] {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 2; ++i) workers.push_back(*executor_.MakeWorker());
    return workers;
  }();
};

TEST_F(WorkerRunTest, WholeTensorsGiveTheirBitsInManyTurns) {
  const std::vector<ReduceSpec> specs = {
      {.dtype = DType::kF32, .shape = {300'000}, .ops = {Op::kSum, Op::kVar}, .axes = {}},
      {.dtype = DType::kF64, .shape = {3, 50'000}, .ops = {Op::kMean}, .axes = {1}},
      {.dtype = DType::kI32, .shape = {37, 9001}, .ops = {Op::kArgMax}, .axes = {0}},
  };
  for (const ReduceSpec& spec : specs) {
    const Plan plan = *MakePlan(spec);
    const std::string bytes = testing::RandomBytes(spec.dtype, plan.element_count, random_);
    testing::MemoryTask whole(plan, bytes);
    DrippingTask dripping(plan, bytes);
    int turns = 0;
    const TaskReport report = RunInTurns(dripping, &turns);
    const TaskReport expected = RunOnWorker(*workers_[0], whole, Clock::now());
    ASSERT_TRUE(report.outcome.ok() && expected.outcome.ok()) << report.outcome.status();
    EXPECT_EQ(report.outcome->results, expected.outcome->results);
    EXPECT_GT(turns, 5);
  }
}

// One run of planes that are gathered, one of large planes, one that is a single plane.
TEST_F(WorkerRunTest, PartsGiveTheirValuesInManyTurns) {
  const std::vector<std::pair<ReduceSpec, Box>> parts = {
      {{.dtype = DType::kF32, .shape = {50, 5000, 3}, .ops = {Op::kSum}, .axes = {1}},
       {{0, 24, 0}, {50, 2976, 3}}},
      {{.dtype = DType::kF64, .shape = {2, 60'000, 10}, .ops = {Op::kSum}, .axes = {1}},
       {{0, 8, 0}, {2, 58'992, 10}}},
      {{.dtype = DType::kF32, .shape = {400'000}, .ops = {Op::kL2Norm}, .axes = {}},
       {{1024}, {299 * 1024}}},
  };
  for (const auto& [spec, box] : parts) {
    const Plan whole = *MakePlan(spec);
    const std::string data = testing::RandomBytes(spec.dtype, whole.element_count, random_);
    const Part part = testing::PartOf(spec, whole, box);
    const std::string bytes = testing::BytesOfBox(whole, data, box);
    testing::MemoryTask all(PlanOf(part), bytes);
    DrippingTask dripping(PlanOf(part), bytes);
    int turns = 0;
    const TaskReport report = RunInTurns(dripping, &turns);
    const TaskReport expected = RunOnWorker(*workers_[0], all, Clock::now());
    ASSERT_TRUE(report.outcome.ok()) << report.outcome.status();
    ASSERT_TRUE(expected.outcome.ok()) << expected.outcome.status();
    EXPECT_EQ(report.outcome->results, expected.outcome->results);
    EXPECT_GE(turns, 2);
  }
}

TEST_F(WorkerRunTest, WhatFailsBetweenTwoTurnsEndsInTheNextAndLeavesTheWorkerIdle) {
  const Plan plan = *MakePlan({.dtype = DType::kF32, .shape = {300'000}, .ops = {Op::kSum}});
  const std::string bytes = testing::RandomBytes(DType::kF32, plan.element_count, random_);
  for (const bool cancels : {true, false}) {
    DrippingTask task(plan, bytes);
    task.Bring(100'000);
    WorkerRun run(task, Clock::now());
    EXPECT_FALSE(run.Turn(*workers_[0], Patience::kOthersWait));
    if (cancels) {
      task.Cancel(absl::CancelledError("gone"));
    } else {
      task.Fail(absl::InvalidArgumentError("chunk: broke off"));
    }
    run.WaitsSince(Clock::now());
    EXPECT_TRUE(run.Turn(*workers_[1], Patience::kOthersWait));
    EXPECT_EQ(run.TakeReport().outcome.status().code(),
              cancels ? absl::StatusCode::kCancelled : absl::StatusCode::kInvalidArgument);
  }
  testing::MemoryTask next(plan, bytes);
  EXPECT_TRUE(RunOnWorker(*workers_[1], next, Clock::now()).outcome.ok());
}

TEST_F(WorkerRunTest, EveryWaitForAWorkerIsTimeInTheQueueAndNoneIsTimeOfTheSender) {
  using std::chrono::hours;
  const Plan plan = *MakePlan({.dtype = DType::kF32, .shape = {300'000}, .ops = {Op::kSum}});
  const std::string bytes = testing::RandomBytes(DType::kF32, plan.element_count, random_);
  for (const hours wait_max : {hours(7), hours(5)}) {
    DrippingTask task(plan, bytes);
    task.WaitNoLongerThan(wait_max);
    WorkerRun run(task, Clock::now() - hours(1));
    for (const hours waited : {hours(2), hours(3)}) {
      EXPECT_FALSE(run.Turn(*workers_[0], Patience::kOthersWait));
      task.Bring(waited == hours(3) ? bytes.size() : 100'000);
      run.WaitsSince(Clock::now() - waited);
    }
    EXPECT_TRUE(run.Turn(*workers_[1], Patience::kOthersWait));
    const TaskReport report = run.TakeReport();
    EXPECT_GE(report.queue, hours(6));
    EXPECT_LT(report.queue, hours(7));
    EXPECT_LT(report.receive, hours(1));
    EXPECT_EQ(report.outcome.status(),
              wait_max == hours(7) ? absl::OkStatus() : absl::ResourceExhaustedError("too long"));
  }
  testing::MemoryTask next(plan, bytes);
  EXPECT_TRUE(RunOnWorker(*workers_[1], next, Clock::now()).outcome.ok());
}

}  // namespace
}  // namespace warpfold
