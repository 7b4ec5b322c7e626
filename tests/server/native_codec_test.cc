// Results as the contract has them, among them those of an op that nobody has: three numbers each.
#include "server/frontend/native/native_codec.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace warpfold {
namespace {

using ::testing::ElementsAre;

TEST(NativeCodecTest, ResultsHaveTheShapeThatIsKept) {
  const Plan plan = *MakePlan({.dtype = DType::kI8,
                               .shape = {2, 3, 5},
                               .ops = {Op::kMaxAbs, Op::kVar},
                               .axes = {1},
                               .keepdims = true,
                               .correction = 0.5});
  v1::ReduceResponse response;
  AddResults(plan, {"ten bytes.", std::string(80, 'x')}, &response);
  ASSERT_EQ(response.results_size(), 2);
  const v1::Result& of_max_abs = response.results(0);
  EXPECT_EQ(of_max_abs.spec().op(), v1::OP_MAX_ABS);
  EXPECT_EQ(of_max_abs.tensor().dtype(), v1::DTYPE_U8);
  EXPECT_THAT(of_max_abs.tensor().shape(), ElementsAre(2, 1, 5));
  EXPECT_EQ(of_max_abs.trailing_dims(), 0);
  EXPECT_EQ(of_max_abs.data(), "ten bytes.");
  EXPECT_EQ(response.results(1).spec().variance().correction(), 0.5);
}

TEST(NativeCodecTest, DimensionsOfTheOpsOwnAreBehindThem) {
  const std::vector<std::int64_t> kept = {4, 2}, own = {3};
  v1::Result result;
  FillResult(DType::kF16, kept, own, std::string(48, 'x'), &result);
  EXPECT_EQ(result.tensor().dtype(), v1::DTYPE_F16);
  EXPECT_THAT(result.tensor().shape(), ElementsAre(4, 2, 3));
  EXPECT_EQ(result.trailing_dims(), 1);
  EXPECT_EQ(result.data(), std::string(48, 'x'));
}

}  // namespace
}  // namespace warpfold
