// What every Worker must do, on any backend: the exact results, however the bytes arrive. Shared by
// the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_WORKER_CASES_H_
#define WARPFOLD_TESTS_DEVICE_WORKER_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "server/device/executor.h"
#include "tests/device/host_budget.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/tensors.h"

namespace warpfold::testing {

// Feeds `data` through the worker in commits of random sizes.
inline absl::StatusOr<Outcome> Feed(Worker& worker, const Plan& plan, const void* data,
                                    std::mt19937_64& random) {
  absl::Status status = worker.Begin(plan);
  if (!status.ok()) return status;
  const char* from = static_cast<const char*>(data);
  for (std::int64_t sent = 0; sent < plan.input_bytes;) {
    absl::StatusOr<absl::Span<std::byte>> buffer = worker.Buffer();
    if (!buffer.ok()) return buffer.status();
    EXPECT_FALSE(buffer->empty());
    const std::size_t bytes = random() % 3 == 0 ? 1 + random() % buffer->size() : buffer->size();
    std::memcpy(buffer->data(), from + sent, bytes);
    status = worker.Commit(bytes);
    if (!status.ok()) return status;
    sent += static_cast<std::int64_t>(bytes);
  }
  return worker.Finish();
}

template <typename T>
void ExpectExactBits(Worker& worker, const Case& c, std::mt19937_64& random) {
  const absl::StatusOr<Plan> plan = MakePlan(c.spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<T> data = RandomElements<T>(static_cast<std::size_t>(plan->element_count), random);
  if (c.spec.nan_policy == NanPolicy::kOmit) StrewNan(data, random);
  const absl::StatusOr<Outcome> outcome = Feed(worker, *plan, data.data(), random);
  ASSERT_TRUE(outcome.ok()) << outcome.status() << c.ToString();
  const std::vector<std::string> expected = ExpectedResults<T>(c.spec, data);
  ASSERT_EQ(outcome->results.size(), expected.size());
  for (std::size_t op = 0; op < expected.size(); ++op) {
    ASSERT_EQ(outcome->results[op], expected[op]) << c.ToString() << ", " << Name(c.spec.ops[op]);
  }
}

// Random shapes, and the shapes that take each kind of segment with 64 KiB staging buffers: whole
// planes, subtrees of long rows and tall columns, parts of very wide rows; with and without folds
// further out.
inline void GivesExactBitsHoweverTheBytesArrive(Worker& worker, int random_cases) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{100, 1000}, {1}},      {{3, 100000}, {1}},        {{100000, 3}, {0}},
      {{2, 30000, 5}, {1}},    {{37, 9001}, {0}},         {{2, 17, 9001}, {1}},
      {{3, 4, 20000}, {0, 2}}, {{3, 2, 9, 9001}, {0, 2}}, {{2, 3, 4, 5, 600}, {0, 2, 4}},
      {{300000}, {}},          {{70000, 1}, {1}},         {{40, 50, 60}, {}},
  };
  std::mt19937_64 random(42);
  for (const DType dtype : DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Case c;
      c.spec.dtype = dtype;
      for (const auto& [shape, axes] : shapes) {
        c.spec.shape = shape;
        c.spec.axes = axes;
        c.spec.ops = {Op::kMean, Op::kMin, Op::kSum, Op::kMax};
        ExpectExactBits<T>(worker, c, random);
        c.spec.ops = {Op::kArgMax, Op::kArgMin};  // whose answers depend on where a segment begins
        ExpectExactBits<T>(worker, c, random);
        if (::testing::Test::HasFatalFailure()) return;
      }
      for (int i = 0; i < Rounds(random_cases); ++i) {
        Case random_case = RandomCase(dtype, 200000, random);
        std::vector<Op>& ops = random_case.spec.ops;
        if (i % 2) ops = {ops[random() % ops.size()]};
        ExpectExactBits<T>(worker, random_case, random);
        if (::testing::Test::HasFatalFailure()) return;
      }
    });
  }
}

inline void AnswersEmptyTensors(Worker& worker) {
  std::mt19937_64 random(1);
  ReduceSpec spec{.dtype = DType::kF32, .shape = {2, 0}, .axes = {1}};
  std::vector<std::string> expected;
  const auto expect = [&](Op op, const std::string& one_result) {
    spec.ops.push_back(op);
    expected.push_back(one_result + one_result);
  };
  for (const Op op : {Op::kSum, Op::kL1Norm, Op::kL2Norm}) expect(op, BytesOf<float>(0.0));
  for (const Op op : {Op::kMean, Op::kVar, Op::kStd}) expect(op, BytesOf<float>(std::nan("")));
  for (const Op op : {Op::kCountNonzero, Op::kNanCount, Op::kInfCount}) {
    expect(op, BytesOf<std::int64_t>(0));
  }
  expect(Op::kProd, BytesOf<float>(1.0));
  expect(Op::kAny, BytesOf<Bool>(0));
  expect(Op::kAll, BytesOf<Bool>(1));
  const absl::StatusOr<Outcome> outcome = Feed(worker, *MakePlan(spec), nullptr, random);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->results, expected);
}

// `copies`: whether what the worker is fed has to get to its device.
inline void CountsWhatItDid(Executor& executor, Worker& worker, bool copies) {
  const absl::StatusOr<Plan> plan =
      MakePlan({.dtype = DType::kF32, .shape = {100'000}, .ops = {Op::kSum}});
  const std::vector<float> data(100'000, 1.0F);
  std::mt19937_64 random(7);
  const DeviceUse::Counts before = executor.use();
  ASSERT_TRUE(Feed(worker, *plan, data.data(), random).ok());
  const DeviceUse::Counts fed = executor.use();
  EXPECT_EQ(fed.reduced_bytes - before.reduced_bytes, plan->input_bytes);
  EXPECT_GT(fed.kernel_time, before.kernel_time);
  EXPECT_EQ(fed.copied_bytes - before.copied_bytes, copies ? plan->input_bytes : 0);
  EXPECT_EQ(fed.copy_time > before.copy_time, copies);

  // A tensor that stays is copied when it is written, and not again when it is reduced.
  const auto memory = executor.AllocateTensor(static_cast<std::size_t>(plan->input_bytes));
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_TRUE(
      worker.BeginWrite((*memory)->data(), static_cast<std::size_t>(plan->input_bytes)).ok());
  for (std::size_t missing = static_cast<std::size_t>(plan->input_bytes); missing > 0;) {
    const absl::Span<std::byte> buffer = *worker.Buffer();
    std::memset(buffer.data(), 0, buffer.size());
    ASSERT_TRUE(worker.Commit(buffer.size()).ok());
    missing -= buffer.size();
  }
  ASSERT_TRUE(worker.FinishWrite().ok());
  const DeviceUse::Counts written = executor.use();
  EXPECT_EQ(written.copied_bytes - fed.copied_bytes, copies ? plan->input_bytes : 0);
  EXPECT_EQ(written.reduced_bytes, fed.reduced_bytes);
  ASSERT_TRUE(worker.Reduce(*plan, (*memory)->data()).ok());
  EXPECT_EQ(executor.use().reduced_bytes - written.reduced_bytes, plan->input_bytes);
  EXPECT_EQ(executor.use().copied_bytes, written.copied_bytes);
}

inline void RefusesSumsThatDoNotFit(Worker& worker) {
  std::mt19937_64 random(1);
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const Plan plan =
      *MakePlan({.dtype = DType::kI64, .shape = {3, 2}, .ops = {Op::kSum}, .axes = {1}});
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::int64_t bad[] = {1, 2, -big, -big, big, big};
    const absl::StatusOr<Outcome> outcome = Feed(worker, plan, bad, random);
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(
        std::string(outcome.status().message()),
        "ops: the sum of output element 1 is -18446744073709551614, which does not fit in i64");
  }
  const std::int64_t good[] = {1, 2, 3, 4, big, 0};
  EXPECT_TRUE(Feed(worker, plan, good, random).ok()) << "the refusal outlived its request";
}

inline void ServesTheNextRequestAfterAbandon(Worker& worker) {
  std::mt19937_64 random(9);
  Case c;
  c.spec = {.dtype = DType::kF32, .shape = {3, 100000}, .ops = {Op::kSum}, .axes = {1}};
  const Plan plan = *MakePlan(c.spec);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{200000}}) {
    ASSERT_TRUE(worker.Begin(plan).ok());
    for (std::size_t sent = 0; sent < bytes;) {
      absl::Span<std::byte> buffer = *worker.Buffer();
      const std::size_t step = std::min(buffer.size(), bytes - sent);
      std::memset(buffer.data(), 0x7f, step);
      ASSERT_TRUE(worker.Commit(step).ok());
      sent += step;
    }
    worker.Abandon();
    ExpectExactBits<float>(worker, c, random);
  }
}

// Rows of sums that do not fit, of which the first are whole and folded when the client goes.
inline void AnAbandonedOverflowIsForgotten(Worker& worker) {
  const Plan plan =
      *MakePlan({.dtype = DType::kI64, .shape = {1024, 1024}, .ops = {Op::kSum}, .axes = {1}});
  const auto begin = [&](std::int64_t value, std::size_t values) {
    ASSERT_TRUE(worker.Begin(plan).ok());
    while (values > 0) {
      absl::Span<std::byte> buffer = *worker.Buffer();
      const std::size_t count = std::min(buffer.size() / sizeof(value), values);
      std::fill_n(reinterpret_cast<std::int64_t*>(buffer.data()), count, value);
      ASSERT_TRUE(worker.Commit(count * sizeof(value)).ok());
      values -= count;
    }
  };
  begin(std::numeric_limits<std::int64_t>::max(), 1024 * 1024 - 1);
  worker.Abandon();
  begin(1, 1024 * 1024);
  const absl::StatusOr<Outcome> outcome = worker.Finish();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->results[0].substr(0, 8), std::string("\0\4\0\0\0\0\0\0", 8));
}

// REQUIRES: a worker with less than 512 MiB of scratch.
inline void RefusesWhatItsScratchCannotHold(Worker& worker) {
  const Plan plan =
      *MakePlan({.dtype = DType::kF32, .shape = {4, 1 << 24}, .ops = {Op::kSum}, .axes = {0}});
  const absl::Status status = worker.Begin(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  std::mt19937_64 random(1);
  Case c;
  c.spec = {.dtype = DType::kF32, .shape = {1000}, .ops = {Op::kSum}};
  ExpectExactBits<float>(worker, c, random);
}

// Whatever the budget leaves: refused before a byte is read and with nothing held, or right.
inline void RefusesWhatTheBudgetCannotHold(Worker& worker) {
  std::mt19937_64 random(1);
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1 << 15, 2}, std::vector<std::int64_t>{1 << 15, 0}}) {
    const Plan plan =
        *MakePlan({.dtype = DType::kF32, .shape = shape, .ops = {Op::kSum}, .axes = {1}});
    const std::vector<char> data(static_cast<std::size_t>(plan.input_bytes));
    const std::int64_t used = UsedHostBytes();
    int refused = 0;
    for (std::int64_t left = 0;; left += std::int64_t{32} << 10) {
      const LeftInBudget budget(left);
      const absl::Status begun = worker.Begin(plan);
      if (begun.ok()) {
        EXPECT_GT(UsedHostBytes(), used);
        worker.Abandon();
        break;
      }
      ++refused;
      EXPECT_EQ(begun.code(), absl::StatusCode::kResourceExhausted) << begun;
      EXPECT_EQ(UsedHostBytes(), used) << left;
    }
    EXPECT_GT(refused, 0);
    EXPECT_EQ(UsedHostBytes(), used);
    {
      const absl::StatusOr<Outcome> outcome = Feed(worker, plan, data.data(), random);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(UsedHostBytes() - used, std::ssize(outcome->results.front()));
    }
    EXPECT_EQ(UsedHostBytes(), used) << "an outcome that is gone holds nothing";
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_WORKER_CASES_H_
