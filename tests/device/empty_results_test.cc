// Results over no elements, against those of the oracle.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/ops/catalogue.h"
#include "kernels/plan.h"
#include "server/device/reduce/results.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold {
namespace {

class EmptyResultsTest : public ::testing::TestWithParam<DType> {};

TEST_P(EmptyResultsTest, AreThoseOfTheOracle) {
  ReduceSpec spec{.dtype = GetParam(), .shape = {3, 0, 2}, .axes = {1}};
  for (const Op op : kAllOps) {
    if (InfoOf(op).has_empty) spec.ops.push_back(op);
  }
  for (const NanPolicy policy : {NanPolicy::kPropagate, NanPolicy::kOmit}) {
    for (const double correction : {-1.0, 0.0, 0.5, 1.0}) {
      spec.nan_policy = policy;
      spec.correction = correction;
      const absl::StatusOr<Plan> plan = MakePlan(spec);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const absl::StatusOr<std::vector<std::string>> results = EmptyResults(*plan);
      ASSERT_TRUE(results.ok()) << results.status();
      const std::vector<testing::Answer> expected = testing::ReductionAnswers(spec, nullptr);
      ASSERT_EQ(results->size(), spec.ops.size());
      for (std::size_t i = 0; i < spec.ops.size(); ++i) {
        EXPECT_EQ((*results)[i], expected[i].bytes) << Name(spec.ops[i]) << ' ' << correction;
      }
    }
  }
}

// Which MIN has, too.
TEST_P(EmptyResultsTest, WithoutOutputsAreEmpty) {
  const absl::StatusOr<Plan> plan = MakePlan({.dtype = GetParam(),
                                              .shape = {0, 0},
                                              .ops = {Op::kMin, Op::kSum, Op::kArgMax},
                                              .axes = {1}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<std::vector<std::string>> results = EmptyResults(*plan);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*results, std::vector<std::string>(3));
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, EmptyResultsTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
