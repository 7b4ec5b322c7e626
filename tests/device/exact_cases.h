// What a worker answers: the kernels' results on the CPU, which GMP has
// judged, however the bytes arrive and wherever they lie.
#ifndef WARPFOLD_TESTS_DEVICE_EXACT_CASES_H_
#define WARPFOLD_TESTS_DEVICE_EXACT_CASES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/device/executor.h"
#include "tests/device/tensor_cases.h"
#include "tests/device/worker_cases.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/random_spec.h"

namespace warpfold::testing {

// Of `outcome` and what is expected; true where a product of floats was refused, which may depend
// on the order of its factors.
inline bool ExpectOutcome(const ReduceSpec& spec, const absl::StatusOr<Outcome>& outcome,
                          const Results& expected) {
  const bool is_refused = expected.overflow.output_index != Overflow::kNone;
  if (IsFloat(spec.dtype)) {
    if (outcome.status().code() == absl::StatusCode::kDataLoss || is_refused) {
      EXPECT_TRUE(outcome.ok() || outcome.status().code() == absl::StatusCode::kDataLoss)
          << outcome.status();
      return true;
    }
  } else if (is_refused) {
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kOutOfRange);
    return false;
  }
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) return false;
  for (std::size_t i = 0; i < spec.ops.size(); ++i) {
    EXPECT_TRUE(outcome->results[i] == expected.bytes[i]) << Name(spec.ops[i]);
  }
  return false;
}

// From the client, and of a tensor that is there. False as ExpectOutcome is true.
inline bool IsAnsweredExactly(Executor& executor, Worker& worker, const ReduceSpec& spec,
                              std::mt19937_64& random) {
  SCOPED_TRACE(ToString(spec));
  const Plan plan = *MakePlan(spec);
  const std::vector<char> data = HardTensor(spec, random);
  const Results expected = Reduce(plan, data.data(), cpu::Serial);
  const bool is_refused = ExpectOutcome(spec, Feed(worker, plan, data.data(), random), expected);
  const auto memory =
      Upload(executor, worker,
             absl::MakeSpan(reinterpret_cast<const std::byte*>(data.data()), data.size()), random);
  ExpectOutcome(spec, worker.Reduce(plan, memory->data()), expected);
  return !is_refused;
}

// Reductions of up to `elements` elements: from the client, and of a tensor that is there.
inline void AnswersExactly(Executor& executor, Worker& worker, DType dtype, int rounds,
                           std::int64_t elements) {
  std::mt19937_64 random(20261127);
  int refusals = 0;
  for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    const ReduceSpec spec = RandomSpec(dtype, elements, random);
    refusals += IsAnsweredExactly(executor, worker, spec, random) ? 0 : 1;
  }
  EXPECT_LE(refusals, 1 + rounds / 10);
}

// SUM alone, which may have a kernel of its own, of some more than `bytes`.
inline void SumsAllOfATensor(Executor& executor, Worker& worker, DType dtype, std::int64_t bytes) {
  std::mt19937_64 random(20261127);
  for (int i = 0; i < Rounds(3) && !::testing::Test::HasFailure(); ++i) {
    const std::int64_t elements = bytes / static_cast<std::int64_t>(ElementBytes(dtype)) +
                                  static_cast<std::int64_t>(random() % 5000);
    IsAnsweredExactly(executor, worker, {.dtype = dtype, .shape = {elements}, .ops = {Op::kSum}},
                      random);
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_EXACT_CASES_H_
