// What every Worker answers where there is nothing to compute from, or the answer has no place: the
// contract's words on NaN, correction and overflow (reduction.proto). Shared by the CPU tests and
// the GPU tests; those on empty tensors and sums are in worker_cases.h.
#ifndef WARPFOLD_TESTS_DEVICE_EDGE_CASES_H_
#define WARPFOLD_TESTS_DEVICE_EDGE_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/device/worker_cases.h"

namespace warpfold::testing {

// Shapes and axes that take each kind of kernel: short and long rows, several of them, columns, and
// a fold further out.
struct ShapeAndAxes {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> axes;
};
inline std::vector<ShapeAndAxes> ShapesOfEachKind() {
  return {{{}, {}},          {{3}, {}},           {{1000}, {}},       {{70001}, {}},
          {{500, 5}, {1}},   {{7, 3000}, {1}},    {{2, 40000}, {1}},  {{9, 11}, {0}},
          {{20000, 3}, {0}}, {{3, 50, 200}, {1}}, {{5, 4, 6}, {0, 2}}};
}

// `expected[i]` is the answer of `spec.ops[i]` for every output.
template <typename T>
void ExpectEverywhere(Worker& worker, const ReduceSpec& spec, const std::vector<T>& data,
                      const std::vector<std::string>& expected) {
  std::mt19937_64 random(61);
  const Plan plan = *MakePlan(spec);
  const absl::StatusOr<Outcome> outcome = Feed(worker, plan, data.data(), random);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  for (std::size_t i = 0; i < spec.ops.size(); ++i) {
    std::string everywhere;
    for (std::int64_t o = 0; o < plan.output_count; ++o) everywhere += expected[i];
    EXPECT_EQ(outcome->results[i], everywhere)
        << Case{spec}.ToString() << ", " << Name(spec.ops[i]);
  }
}

template <typename T>
void ExpectAllNanOmitted(Worker& worker, ReduceSpec spec, double correction) {
  using Result = FloatOf<T>;
  const std::string zero = BytesOf<Result>(0.0), nan = BytesOf<Result>(std::nan(""));
  const std::string nothing = BytesOf<T>(std::nan(""));
  const std::string none = BytesOf<std::int64_t>(0), nowhere = BytesOf<std::int64_t>(-1);
  const Plan plan = *MakePlan(spec);
  const std::string all = BytesOf<std::int64_t>(plan.reduced_count);
  spec.nan_policy = NanPolicy::kOmit;
  spec.correction = correction;
  spec.ops = {Op::kSum, Op::kL1Norm,       Op::kL2Norm,   Op::kProd,    Op::kMean,   Op::kVar,
              Op::kStd, Op::kMin,          Op::kMax,      Op::kArgMin,  Op::kArgMax, Op::kAny,
              Op::kAll, Op::kCountNonzero, Op::kNanCount, Op::kInfCount};
  const std::vector<T> data(static_cast<std::size_t>(plan.element_count),
                            ElementOf<T>(std::nan("")));
  ExpectEverywhere(worker, spec, data,
                   {zero, zero, zero, BytesOf<Result>(1.0), nan, nan, nan, nothing, nothing,
                    nowhere, nowhere, BytesOf<Bool>(0), BytesOf<Bool>(1), none, all, none});
}

inline void AnswersWhereAllElementsAreNan(Worker& worker) {
  for (const auto& [shape, axes] : ShapesOfEachKind()) {
    ReduceSpec spec{.shape = shape, .ops = {Op::kSum}, .axes = axes};
    for (const DType dtype : kFloatDTypes) {
      spec.dtype = dtype;
      VisitDType(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (kIsFloat<T>) {
          // One below 0 leaves a divisor, and still no variance.
          for (const double correction : {0.0, 1.0, -1.0}) {
            ExpectAllNanOmitted<T>(worker, spec, correction);
          }
        }
      });
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Many NaN in a row say nothing of the numbers beside them.
inline void FindsExtremaBesideTilesOfNan(Worker& worker) {
  std::mt19937_64 random(62);
  for (const DType dtype : kFloatDTypes) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (kIsFloat<T>) {
        for (const std::int64_t tiles : {2, 7, 40}) {
          const std::int64_t rows = 80 / tiles, row_elements = tiles * kTileElements<T>;
          const ReduceSpec spec{.dtype = dtype,
                                .shape = {rows, row_elements},
                                .ops = {Op::kArgMin, Op::kArgMax, Op::kMin, Op::kMax},
                                .axes = {1},
                                .nan_policy = NanPolicy::kOmit};
          const Plan plan = *MakePlan(spec);
          const std::vector<T> data = RowsWithTilesOfNan<T>(rows, row_elements, random);
          const absl::StatusOr<Outcome> outcome = Feed(worker, plan, data.data(), random);
          ASSERT_TRUE(outcome.ok()) << outcome.status();
          EXPECT_EQ(outcome->results, ExpectedResults<T>(spec, data)) << Case{spec}.ToString();
        }
      }
    });
  }
}

// A sum's infinity is that of the elements, whatever the sum of the others is.
inline void SumsRowsWithInfinities(Worker& worker) {
  std::mt19937_64 random(63);
  for (const DType dtype : kFloatDTypes) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (kIsFloat<T>) {
        for (const std::int64_t length : {5, 700, 32'768}) {
          const std::vector<T> data = RowsWithInfinities<T>(16, length, random);
          for (const std::int64_t axis : {1, 0}) {
            const ReduceSpec spec{.dtype = dtype,
                                  .shape = {16, length},
                                  .ops = {Op::kSum, Op::kMean, Op::kMaxAbs},
                                  .axes = {axis}};
            const Plan plan = *MakePlan(spec);
            const absl::StatusOr<Outcome> outcome = Feed(worker, plan, data.data(), random);
            ASSERT_TRUE(outcome.ok()) << outcome.status();
            EXPECT_EQ(outcome->results, ExpectedResults<T>(spec, data)) << Case{spec}.ToString();
          }
        }
      }
    });
  }
}

// VAR and STD of elements that differ, and of elements that do not, by a correction that leaves no
// divisor: infinity, 0 / 0, and without NaN always NaN.
template <typename T>
void ExpectNoDivisor(Worker& worker, ReduceSpec spec) {
  const Plan plan = *MakePlan(spec);
  spec.ops = {Op::kVar, Op::kStd};
  std::vector<T> same(static_cast<std::size_t>(plan.element_count), ElementOf<T>(3));
  std::vector<T> rising = same;
  // Every output has a 4 among its elements unless it has but one.
  for (std::size_t i = 0; i < rising.size(); ++i) {
    if (i % 2 == 1) rising[i] = ElementOf<T>(4);
  }
  using Result = FloatOf<T>;
  const std::string nan = BytesOf<Result>(std::nan("")), infinity = BytesOf<Result>(HUGE_VAL);
  for (const double more : {0.0, 0.5, 5.0, 0x1p62, 1e300}) {
    spec.correction = static_cast<double>(plan.reduced_count) + more;
    spec.nan_policy = NanPolicy::kPropagate;
    ExpectEverywhere(worker, spec, same, {nan, nan});
    if (plan.reduced_count > 1) ExpectEverywhere(worker, spec, rising, {infinity, infinity});
    spec.nan_policy = NanPolicy::kOmit;
    const bool omits = kIsFloat<T>;  // integers have no NaN: both policies are the same
    ExpectEverywhere(worker, spec, same, {nan, nan});
    if (plan.reduced_count > 1) {
      ExpectEverywhere(worker, spec, rising, {omits ? nan : infinity, omits ? nan : infinity});
    }
  }
}

inline void AnswersWhereTheCorrectionLeavesNoDivisor(Worker& worker) {
  for (const DType dtype : {DType::kI8, DType::kI32, DType::kU64, DType::kF16, DType::kF64}) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      // Of odd length along the axis, so that rows begin with either element; rows, columns, all.
      for (const ShapeAndAxes& of : std::vector<ShapeAndAxes>{
               {{}, {}}, {{1001}, {}}, {{70001}, {}}, {{4, 333}, {1}}, {{333, 5}, {0}}}) {
        ExpectNoDivisor<T>(worker,
                           {.dtype = dtype, .shape = of.shape, .ops = {Op::kVar}, .axes = of.axes});
      }
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// A product and a sum past 64 bits, in rows, in columns and alone, are refused with the lowest
// output named; float sums become infinite.
inline void RefusesIntegersThatDoNotFitAndOverflowsFloats(Worker& worker) {
  std::mt19937_64 random(62);
  for (const auto& [shape, axes] : ShapesOfEachKind()) {
    ReduceSpec spec{.dtype = DType::kU64, .shape = shape, .ops = {Op::kSum}, .axes = axes};
    const Plan sum = *MakePlan(spec);
    if (sum.reduced_count == 1) continue;
    const std::vector<std::uint64_t> largest(static_cast<std::size_t>(sum.element_count),
                                             std::numeric_limits<std::uint64_t>::max());
    const absl::Status refused = Feed(worker, sum, largest.data(), random).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange) << Case{spec}.ToString();
    EXPECT_TRUE(absl::StartsWith(refused.message(), "ops: the sum of output element 0 is "))
        << refused.message();
    spec.ops = {Op::kProd};
    EXPECT_EQ(Feed(worker, *MakePlan(spec), largest.data(), random).status().message(),
              "ops: the product of output element 0 does not fit in u64")
        << Case{spec}.ToString();

    spec.dtype = DType::kF32;
    spec.ops = {Op::kSum, Op::kL1Norm, Op::kL2Norm, Op::kMean};
    const std::vector<float> low(largest.size(), std::numeric_limits<float>::lowest());
    const std::string infinity = BytesOf<float>(HUGE_VAL);
    ExpectEverywhere(worker, spec, low,
                     {BytesOf<float>(-HUGE_VAL), infinity, infinity,
                      BytesOf<float>(static_cast<double>(std::numeric_limits<float>::lowest()))});
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_EDGE_CASES_H_
