// The judge of reductions: which elements make which output, and what is made of none.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/exact/reduction_oracle.h"
#include "tests/kernels/numbers.h"

namespace warpfold::testing {
namespace {

TEST(ReductionPlacesTest, ElementsBelongWhereTheAxesSay) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(OutputOfEachElement({2, 3}, {1}), (Places{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(OutputOfEachElement({2, 3}, {0}), (Places{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(OutputOfEachElement({2, 3}, {-2}), (Places{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(OutputOfEachElement({2, 3}, {}), (Places{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(OutputOfEachElement({2, 1, 3}, {1}), (Places{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(OutputOfEachElement({2, 2, 2}, {0, 2}), (Places{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(OutputOfEachElement({2, 2, 2}, {1}), (Places{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(OutputOfEachElement({}, {}), Places{0});
  EXPECT_EQ(OutputOfEachElement({2, 0, 3}, {0}), Places{});
}

TEST(ReductionPlacesTest, IndicesCountWithinTheReducedAxes) {
  const ReduceSpec spec{
      .dtype = DType::kI8, .shape = {2, 2, 3}, .ops = {Op::kArgMax}, .axes = {2, 0}};
  const std::vector<std::int8_t> data = {1, 2, 3, 9, 8, 7, 4, 5, 4, 9, 9, 9};
  EXPECT_EQ(ReductionAnswers(spec, data.data())[0].bytes,
            BytesOf<std::int64_t>(4) + BytesOf<std::int64_t>(0));
}

TEST(ReductionPlacesTest, ReductionsOfNothing) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  ReduceSpec spec{.dtype = DType::kF32, .shape = {0, 2}, .ops = {Op::kSum, Op::kMean}, .axes = {0}};
  std::vector<Answer> answers = ReductionAnswers(spec, nullptr);
  EXPECT_EQ(answers[0].bytes, BytesOf<float>(0.0) + BytesOf<float>(0.0));
  EXPECT_EQ(answers[1].bytes, BytesOf<float>(nan) + BytesOf<float>(nan));
  spec.axes = {1};
  answers = ReductionAnswers(spec, nullptr);
  EXPECT_EQ(answers[0].bytes, "");
}

}  // namespace
}  // namespace warpfold::testing
