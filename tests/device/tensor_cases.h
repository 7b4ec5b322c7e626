// What every device that keeps tensors must do: take the bytes in any ranges, and reduce them where
// they lie to the exact results. Shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_TENSOR_CASES_H_
#define WARPFOLD_TESTS_DEVICE_TENSOR_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/device/executor.h"
#include "tests/device/worker_cases.h"
#include "tests/kernels/tensors.h"

namespace warpfold::testing {

// Writes `bytes` to `to` in commits of random sizes.
inline absl::Status WriteRange(Worker& worker, std::byte* to, absl::Span<const std::byte> bytes,
                               std::mt19937_64& random) {
  absl::Status status = worker.BeginWrite(to, bytes.size());
  while (status.ok() && !bytes.empty()) {
    absl::StatusOr<absl::Span<std::byte>> buffer = worker.Buffer();
    if (!buffer.ok()) return buffer.status();
    EXPECT_FALSE(buffer->empty());
    std::size_t count = std::min(buffer->size(), bytes.size());
    if (random() % 3 == 0) count = 1 + random() % count;
    std::memcpy(buffer->data(), bytes.data(), count);
    bytes.remove_prefix(count);
    status = worker.Commit(count);
  }
  return status.ok() ? worker.FinishWrite() : status;
}

// A tensor on the device, written in three ranges of random sizes, the last one first.
inline std::unique_ptr<TensorMemory> Upload(Executor& executor, Worker& worker,
                                            absl::Span<const std::byte> bytes,
                                            std::mt19937_64& random) {
  if (bytes.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<TensorMemory>> memory = executor.AllocateTensor(bytes.size());
  EXPECT_TRUE(memory.ok()) << memory.status();
  std::size_t cuts[] = {0, random() % (bytes.size() + 1), random() % (bytes.size() + 1),
                        bytes.size()};
  std::sort(std::begin(cuts), std::end(cuts));
  for (int part = 2; part >= 0; --part) {
    const std::size_t size = cuts[part + 1] - cuts[part];
    if (size == 0) continue;
    const absl::Status written =
        WriteRange(worker, (*memory)->data() + cuts[part], bytes.subspan(cuts[part], size), random);
    EXPECT_TRUE(written.ok()) << written;
  }
  return *std::move(memory);
}

template <typename T>
void ExpectExactBitsWhereItLies(Executor& executor, Worker& worker, const Case& c,
                                std::mt19937_64& random) {
  const absl::StatusOr<Plan> plan = MakePlan(c.spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<T> data = RandomElements<T>(static_cast<std::size_t>(plan->element_count), random);
  if (c.spec.nan_policy == NanPolicy::kOmit) StrewNan(data, random);
  const std::unique_ptr<TensorMemory> memory = Upload(
      executor, worker,
      absl::MakeSpan(reinterpret_cast<const std::byte*>(data.data()), data.size() * sizeof(T)),
      random);
  const std::vector<std::string> expected = ExpectedResults<T>(c.spec, data);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const absl::StatusOr<Outcome> outcome =
        worker.Reduce(*plan, memory != nullptr ? memory->data() : nullptr);
    ASSERT_TRUE(outcome.ok()) << outcome.status() << c.ToString();
    ASSERT_EQ(outcome->results, expected) << c.ToString();
  }
}

// Every dtype; whole planes, long rows, tall columns and wide ones, with folds further out.
inline void ReducesTensorsWhereTheyLie(Executor& executor, Worker& worker, int random_cases) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{100, 1000}, {1}},   {{3, 100000}, {1}},        {{100000, 3}, {0}}, {{37, 9001}, {0}},
      {{2, 17, 9001}, {1}}, {{3, 2, 9, 9001}, {0, 2}}, {{300000}, {}},
  };
  std::mt19937_64 random(43);
  for (const DType dtype : DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Case c;
      c.spec.dtype = dtype;
      for (const auto& [shape, axes] : shapes) {
        c.spec.shape = shape;
        c.spec.axes = axes;
        c.spec.ops = {Op::kMean, Op::kMin, Op::kSum, Op::kMax, Op::kArgMax};
        ExpectExactBitsWhereItLies<T>(executor, worker, c, random);
        if (::testing::Test::HasFatalFailure()) return;
      }
      for (int i = 0; i < Rounds(random_cases); ++i) {
        ExpectExactBitsWhereItLies<T>(executor, worker, RandomCase(dtype, 200000, random), random);
        if (::testing::Test::HasFatalFailure()) return;
      }
    });
  }
}

// More than the CPU folds at once.
inline void ReducesATensorLargerThanASegment(Executor& executor, Worker& worker) {
  std::mt19937_64 random(44);
  Case c;
  c.spec = {.dtype = DType::kF64, .shape = {30, 300000}, .ops = {Op::kSum}};
  for (const std::int64_t axis : {0, 1}) {
    c.spec.axes = {axis};
    ExpectExactBitsWhereItLies<double>(executor, worker, c, random);
  }
}

// REQUIRES: a worker with less than 32 MiB of scratch.
inline void RefusedReductionsLeaveTheTensorAndTheWorker(Executor& executor, Worker& worker) {
  std::mt19937_64 random(45);
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const std::int64_t elements[] = {big, big, 5, 6};
  const auto memory = Upload(
      executor, worker, absl::MakeSpan(reinterpret_cast<const std::byte*>(elements), 32), random);
  ReduceSpec spec{.dtype = DType::kI64, .shape = {2, 2}, .ops = {Op::kSum}, .axes = {1}};
  EXPECT_EQ(worker.Reduce(*MakePlan(spec), memory->data()).status().code(),
            absl::StatusCode::kOutOfRange);
  spec.ops = {Op::kMin};
  const absl::StatusOr<Outcome> outcome = worker.Reduce(*MakePlan(spec), memory->data());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->results[0], BytesOf<std::int64_t>(big) + BytesOf<std::int64_t>(5));

  // Rows that are folded further out, so that each output has a state.
  const Plan too_much = *MakePlan(
      {.dtype = DType::kF32, .shape = {2, 1 << 22, 2}, .ops = {Op::kSum}, .axes = {0, 2}});
  const auto large = *executor.AllocateTensor(static_cast<std::size_t>(too_much.input_bytes));
  EXPECT_EQ(worker.Reduce(too_much, large->data()).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(worker.Reduce(*MakePlan(spec), memory->data()).ok());
}

// A write that is given up leaves what it has not reached, and a worker that serves on.
inline void AnAbandonedWriteLeavesTheRest(Executor& executor, Worker& worker) {
  std::mt19937_64 random(46);
  const std::vector<std::uint8_t> ones(300000, 1);
  const auto bytes = absl::MakeSpan(reinterpret_cast<const std::byte*>(ones.data()), ones.size());
  const auto memory = Upload(executor, worker, bytes, random);
  ASSERT_TRUE(worker.BeginWrite(memory->data() + 1000, 200000).ok());
  const absl::Span<std::byte> buffer = *worker.Buffer();
  std::memset(buffer.data(), 0, 10);
  ASSERT_TRUE(worker.Commit(10).ok());
  worker.Abandon();
  Case c;
  c.spec = {.dtype = DType::kF32, .shape = {3, 1000}, .ops = {Op::kSum}, .axes = {1}};
  ExpectExactBits<float>(worker, c, random);
  ASSERT_TRUE(WriteRange(worker, memory->data() + 1000, bytes.subspan(0, 10), random).ok());
  const Plan plan = *MakePlan({.dtype = DType::kU8, .shape = {300000}, .ops = {Op::kSum}});
  const absl::StatusOr<Outcome> outcome = worker.Reduce(plan, memory->data());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->results[0], BytesOf<std::uint64_t>(300000));
}

// `workers` read one tensor while another is written beside it.
inline void WorkersShareATensor(Executor& executor,
                                const std::vector<std::unique_ptr<Worker>>& workers) {
  std::mt19937_64 random(47);
  const std::vector<std::int32_t> elements = RandomElements<std::int32_t>(1'000'000, random);
  const auto bytes = absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                                    elements.size() * sizeof(std::int32_t));
  const ReduceSpec spec{
      .dtype = DType::kI32, .shape = {1000, 1000}, .ops = {Op::kSum}, .axes = {0}};
  const Plan plan = *MakePlan(spec);
  const std::vector<std::string> expected = ExpectedResults<std::int32_t>(spec, elements);
  const auto memory = Upload(executor, *workers[0], bytes, random);
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 10; ++repeat) {
        const absl::StatusOr<Outcome> outcome = workers[i]->Reduce(plan, memory->data());
        ASSERT_TRUE(outcome.ok()) << outcome.status();
        EXPECT_EQ(outcome->results, expected);
      }
    });
  }
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto other = Upload(executor, *workers[0], bytes, random);
    const absl::StatusOr<Outcome> outcome = workers[0]->Reduce(plan, other->data());
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->results, expected);
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_TENSOR_CASES_H_
