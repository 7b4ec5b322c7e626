// What a worker leaves of parts: values that, merged in any order, are the
// whole's answer, and the same bytes for the same elements however they were cut.
#ifndef WARPFOLD_TESTS_DEVICE_EXACT_PART_CASES_H_
#define WARPFOLD_TESTS_DEVICE_EXACT_PART_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/part.h"
#include "server/device/reduce/merge.h"
#include "tests/device/exact_cases.h"
#include "tests/device/part_cases.h"

namespace warpfold::testing {

// The parts' values, each reduced from the client or where it lies.
inline std::vector<HeldValues> ReduceParts(Executor& executor, Worker& worker, const Plan& whole,
                                           const std::string& data, const std::vector<Box>& boxes,
                                           std::mt19937_64& random) {
  std::vector<HeldValues> held;
  for (const Box& box : boxes) {
    const std::string bytes = BytesOfBox(whole, data, box);
    const Plan plan = StatesPlan(whole, box);
    absl::StatusOr<Outcome> outcome;
    if (random() % 2 == 0) {
      outcome = Feed(worker, plan, bytes.data(), random);
    } else {
      const auto memory = Upload(
          executor, worker,
          absl::MakeSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), random);
      outcome = worker.Reduce(plan, memory != nullptr ? memory->data() : nullptr);
    }
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok()) return {};
    held.push_back({box, std::move(outcome->results)});
  }
  return held;
}

inline absl::StatusOr<Outcome> AsOutcome(absl::StatusOr<std::vector<std::string>> results) {
  if (!results.ok()) return results.status();
  return Outcome{.results = *std::move(results)};
}

// Parts of tensors of up to `elements` elements, whose values together are those of the whole by
// `other`.
inline void PartsJoinToTheWhole(Executor& executor, Worker& worker, Worker& other, DType dtype,
                                int rounds, std::int64_t elements) {
  constexpr std::uint64_t kSeed = 20261129;
  std::cout << "seed " << kSeed << '\n';
  std::mt19937_64 random(kSeed);
  int refusals = 0;
  for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    const ReduceSpec spec = RandomSpec(dtype, elements, random);
    SCOPED_TRACE(ToString(spec));
    const Plan whole = *MakePlan(spec);
    const std::vector<char> hard = HardTensor(spec, random);
    const std::string data(hard.begin(), hard.end());
    const Results expected = Reduce(whole, data.data(), cpu::Serial);

    std::vector<HeldValues> held =
        ReduceParts(executor, worker, whole, data, RandomCuts(whole, random).boxes, random);
    std::shuffle(held.begin(), held.end(), random);
    refusals +=
        ExpectOutcome(spec, AsOutcome(MergeToResults(whole, Views(held))), expected) ? 1 : 0;

    const auto joined = MergeToValues(whole, Views(held));
    ASSERT_TRUE(joined.ok()) << joined.status();
    const Box all = BoxOf(whole);
    const absl::StatusOr<Outcome> uncut = Feed(other, StatesPlan(whole, all), data.data(), random);
    ASSERT_TRUE(uncut.ok()) << uncut.status();
    const std::vector<ValueKind> kinds = ValueKindsOf(whole);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      // How often a product of floats was cut off depends on the order.
      if (kinds[k] == ValueKind::kProduct && IsFloat(dtype)) continue;
      ASSERT_TRUE((*joined)[k] == uncut->results[k]) << "kind " << static_cast<int>(kinds[k]);
    }
    ExpectOutcome(spec, AsOutcome(MergeToResults(whole, Views({{all, *joined}}))), expected);
  }
  EXPECT_LE(refusals, 1 + rounds / 10);
}

// Of parts without elements, beside others and alone.
inline void PartsMayBeEmpty(Worker& worker) {
  std::mt19937_64 random(1);
  const ReduceSpec spec{
      .dtype = DType::kF32, .shape = {3, 2}, .ops = {Op::kSum, Op::kMax, Op::kProd}, .axes = {0}};
  const Plan whole = *MakePlan(spec);
  const float elements[] = {1, 2, 3, 4, 5, 6};
  const auto values_of = [&](std::int64_t begin, std::int64_t end) {
    const Box box = RangeOf(whole, 0, begin, end);
    const absl::StatusOr<Outcome> outcome =
        Feed(worker, StatesPlan(whole, box), reinterpret_cast<const char*>(elements + 2 * begin),
             random);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return HeldValues{box, outcome->results};
  };
  const HeldValues none = values_of(1, 1);
  EXPECT_EQ(none.values, std::vector<std::string>(3));
  const HeldValues all = values_of(0, 3);
  const auto results = MergeToResults(whole, Views({none, all, none}));
  ASSERT_TRUE(results.ok()) << results.status();
  const float sums[] = {9, 12};
  EXPECT_EQ((*results)[0], std::string(reinterpret_cast<const char*>(sums), sizeof(sums)));
  EXPECT_EQ(*MergeToValues(whole, Views({none, none})), none.values);
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_EXACT_PART_CASES_H_
