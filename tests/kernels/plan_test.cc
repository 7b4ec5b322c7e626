#include "kernels/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "kernels/field_error.h"
#include "tests/kernels/spec.h"

namespace warpfold {
namespace {

void ExpectRefused(const ReduceSpec& spec, Field field, const std::string& start) {
  const absl::StatusOr<Plan> plan = MakePlan(spec);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  const std::optional<FieldError> error = FieldErrorOf(plan.status());
  ASSERT_TRUE(error.has_value()) << plan.status();
  EXPECT_EQ(error->field, field) << plan.status();
  EXPECT_EQ(error->text.rfind(start, 0), 0u) << plan.status();
}

TEST(MakePlan, SeesAContiguousTensorAsOneRow) {
  const Plan plan = *MakePlan(Spec({4, 5, 6}));
  EXPECT_EQ(plan.geometry.outer, 1);
  EXPECT_EQ(plan.geometry.reduce, 120);
  EXPECT_EQ(plan.geometry.inner, 1);
  EXPECT_TRUE(plan.geometry.folds.empty());
  EXPECT_EQ(plan.input_bytes, 480);
  EXPECT_TRUE(plan.result_shape.empty());
}

TEST(MakePlan, KeepsOuterReducedRunsAsFolds) {
  const Plan plan = *MakePlan(Spec({8, 3, 5, 7}, {0, 2}));
  EXPECT_EQ(plan.geometry.outer, 24);
  EXPECT_EQ(plan.geometry.reduce, 5);
  EXPECT_EQ(plan.geometry.inner, 7);
  ASSERT_EQ(plan.geometry.folds.size(), 1u);
  EXPECT_EQ(plan.geometry.folds[0].outer, 1);
  EXPECT_EQ(plan.geometry.folds[0].count, 8);
  EXPECT_EQ(plan.geometry.folds[0].inner, 21);
  EXPECT_EQ(plan.result_shape, (std::vector<std::int64_t>{3, 7}));
}

TEST(MakePlan, FoldsInnermostRunsFirst) {
  const Plan plan = *MakePlan(Spec({2, 3, 4, 5, 6, 7}, {0, 2, 4}));
  EXPECT_EQ(plan.geometry.outer, 2 * 3 * 4 * 5);
  EXPECT_EQ(plan.geometry.reduce, 6);
  ASSERT_EQ(plan.geometry.folds.size(), 2u);
  EXPECT_EQ(plan.geometry.folds[0].outer, 2 * 3);
  EXPECT_EQ(plan.geometry.folds[0].count, 4);
  EXPECT_EQ(plan.geometry.folds[0].inner, 5 * 7);
  EXPECT_EQ(plan.geometry.folds[1].outer, 1);
  EXPECT_EQ(plan.geometry.folds[1].count, 2);
  EXPECT_EQ(plan.geometry.folds[1].inner, 3 * 5 * 7);
}

TEST(MakePlan, DropsDimensionsOfLengthOne) {
  const Plan plan = *MakePlan(Spec({1, 6, 1, 1, 4}, {1, 3}));
  EXPECT_EQ(plan.geometry.outer, 1);
  EXPECT_EQ(plan.geometry.reduce, 6);
  EXPECT_EQ(plan.geometry.inner, 4);
}

TEST(MakePlan, ReducesAScalarToItself) {
  const Plan plan = *MakePlan(Spec({}));
  EXPECT_EQ(plan.element_count, 1);
  EXPECT_EQ(plan.output_count, 1);
  EXPECT_EQ(plan.reduced_count, 1);
}

TEST(MakePlan, KeepsReducedAxesWithLengthOneWhenAsked) {
  ReduceSpec spec = Spec({4, 5, 6}, {-2});
  spec.keepdims = true;
  EXPECT_EQ(MakePlan(spec)->result_shape, (std::vector<std::int64_t>{4, 1, 6}));
}

TEST(MakePlan, AddsUpTheBytesOfAllResults) {
  ReduceSpec spec{
      .dtype = DType::kI32, .shape = {10, 3}, .ops = {Op::kSum, Op::kMin, Op::kMean}, .axes = {1}};
  EXPECT_EQ(MakePlan(spec)->result_bytes(), 10 * (8 + 4 + 8));
}

TEST(MakePlan, AcceptsEmptySumsAndEmptyResults) {
  EXPECT_EQ(MakePlan(Spec({0}))->reduced_count, 0);
  EXPECT_EQ(MakePlan(Spec({0, 3}, {1}, {Op::kMin}))->output_count, 0);
}

TEST(MakePlan, RefusesBadShapes) {
  ExpectRefused(Spec({3, -1}), Field::kTensorShape, "dimension 1 is negative");
  ExpectRefused(Spec({std::int64_t{1} << 31, std::int64_t{1} << 31}), Field::kTensorShape,
                "the tensor's byte count");
  ExpectRefused(Spec({0, std::numeric_limits<std::int64_t>::max(), 4}), Field::kTensorShape,
                "the tensor's byte count");
  ExpectRefused(Spec(std::vector<std::int64_t>(33, 1)), Field::kTensorShape, "rank 33");
  ReduceSpec results = Spec({std::int64_t{1} << 57, 1}, {1});
  results.dtype = DType::kU8;
  ExpectRefused(results, Field::kTensorShape, "the results' byte count");
}

TEST(MakePlan, BoundsTheElementsOfAProductOfFloats) {
  ReduceSpec spec = Spec({std::int64_t{1} << 52}, {}, {Op::kSum, Op::kProd});
  spec.dtype = DType::kF64;
  EXPECT_TRUE(MakePlan(spec).ok());
  spec.shape = {(std::int64_t{1} << 52) + 1};
  ExpectRefused(spec, Field::kTensorShape,
                "4503599627370497 elements are above the limit of 4503599627370496");
  spec.ops = {Op::kSum};
  EXPECT_TRUE(MakePlan(spec).ok());
  spec.ops = {Op::kProd};
  spec.dtype = DType::kI64;
  EXPECT_TRUE(MakePlan(spec).ok());
}

TEST(MakePlan, RefusesBadOps) {
  ExpectRefused(Spec({3}, {}, {}), Field::kOps, "at least one");
  ExpectRefused(Spec({3}, {}, {Op::kSum, Op::kMin, Op::kSum}), Field::kOps, "sum is listed twice");
  const std::vector<Op> too_many(kRequestOpsMax + 1, Op::kSum);
  ExpectRefused(Spec({3}, {}, too_many), Field::kOps, "17 are above the limit of 16");
  ExpectRefused(Spec({0}, {}, {Op::kSum, Op::kMax}), Field::kOps, "max of no elements");
  ExpectRefused(Spec({3, 0}, {1}, {Op::kMin}), Field::kOps, "min of no elements");
}

// Squares of 16 bits, times their count, fill 128 bits then.
TEST(MakePlan, TakesTheVarianceOfAnyNumberOfElements) {
  for (const DType dtype : {DType::kBool, DType::kU16, DType::kI64}) {
    ReduceSpec spec = Spec({std::int64_t{1} << 58}, {}, {Op::kVar, Op::kStd});
    spec.dtype = dtype;
    EXPECT_TRUE(MakePlan(spec).ok()) << MakePlan(spec).status();
  }
}

TEST(MakePlan, RefusesBadAxes) {
  ExpectRefused(Spec({3, 4}, {2}), Field::kAxes, "2 is out of range");
  ExpectRefused(Spec({3, 4}, {-3}), Field::kAxes, "-3 is out of range");
  ExpectRefused(Spec({3, 4}, {1, -1}), Field::kAxes, "axis 1 is listed twice");
  ExpectRefused(Spec({}, {0}), Field::kAxes, "0 is out of range");
}

TEST(MakePlan, RefusesEnumeratorsThatAreNone) {
  ReduceSpec spec = Spec({2, 3});
  spec.dtype = static_cast<DType>(kDTypeCount);
  ExpectRefused(spec, Field::kTensorDType, "15 is no dtype");
  spec = Spec({2, 3});
  spec.ops.push_back(static_cast<Op>(200));
  ExpectRefused(spec, Field::kOps, "200 is no op");
  spec = Spec({2, 3});
  spec.nan_policy = static_cast<NanPolicy>(9);
  ExpectRefused(spec, Field::kNanPolicy, "9 is no policy");
}

TEST(MakePlan, TakesAnyFiniteCorrection) {
  ReduceSpec spec = Spec({2, 3});
  for (const double correction : {-1.5, 0.5, 1e300}) {
    spec.correction = correction;
    EXPECT_TRUE(MakePlan(spec).ok());
  }
  for (const double correction : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    spec.correction = correction;
    ExpectRefused(spec, Field::kOps, "correction ");
  }
}

TEST(MakePlan, SaysWhatResultsOfEachOpAre) {
  ReduceSpec spec = Spec({2, 3}, {1});
  spec.dtype = DType::kI8;
  spec.ops = {Op::kMax, Op::kMean, Op::kAny};
  const Plan plan = *MakePlan(spec);
  EXPECT_EQ(plan.result_dtype(1), DType::kF64);
  EXPECT_EQ(plan.result_bytes(0), 2);
  EXPECT_EQ(plan.result_bytes(1), 16);
  EXPECT_EQ(plan.result_bytes(), 2 + 16 + 2);
}

}  // namespace
}  // namespace warpfold
