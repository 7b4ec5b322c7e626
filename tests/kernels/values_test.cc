// The layout of partial states as reduction.proto's PartialState has it, which clients may read.
#include "kernels/values.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

using Kinds = std::vector<ValueKind>;

TEST(ValuesTest, EveryKindHasTheBytesThatTheContractNames) {
  for (const DType dtype : kAllDTypes) {
    const std::size_t key = dtype == DType::kI64 || dtype == DType::kU64 || dtype == DType::kF64
                                ? sizeof(std::int64_t)
                                : sizeof(std::int32_t);
    EXPECT_EQ(ValueBytes(ValueKind::kProduct, dtype), IsFloat(dtype) ? 33U : 16U) << Name(dtype);
    for (const ValueKind kind : {ValueKind::kMin, ValueKind::kMax}) {
      EXPECT_EQ(ValueBytes(kind, dtype), key) << Name(dtype);
    }
    for (const ValueKind kind : {ValueKind::kArgMin, ValueKind::kArgMax}) {
      EXPECT_EQ(ValueBytes(kind, dtype), 16U) << Name(dtype);
    }
    for (const ValueKind kind :
         {ValueKind::kNonzeroCount, ValueKind::kNanCount, ValueKind::kInfCount}) {
      EXPECT_EQ(ValueBytes(kind, dtype), 8U) << Name(dtype);
    }
  }
}

TEST(ValuesTest, OpsAreMadeOfTheirKindsEachOnceAscending) {
  const auto kinds = [](DType dtype, const std::vector<Op>& ops) {
    return ValueKindsOf(dtype, ops, NanPolicy::kPropagate);
  };
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(kinds(dtype, {Op::kStd, Op::kVar}), (Kinds{ValueKind::kSum, ValueKind::kSquareSum}))
        << Name(dtype);
  }
  EXPECT_EQ(kinds(DType::kF32, {Op::kMean, Op::kL2Norm, Op::kSum, Op::kL1Norm}),
            (Kinds{ValueKind::kSum, ValueKind::kAbsSum, ValueKind::kSquareSum}));
  EXPECT_EQ(kinds(DType::kF32, {Op::kArgMax, Op::kMax, Op::kArgMin, Op::kMin}),
            (Kinds{ValueKind::kMin, ValueKind::kMax, ValueKind::kArgMin, ValueKind::kArgMax}));
  EXPECT_EQ(kinds(DType::kF32, {Op::kProd, Op::kInfCount, Op::kNanCount, Op::kAll, Op::kAny}),
            (Kinds{ValueKind::kNonzeroCount, ValueKind::kNanCount, ValueKind::kInfCount,
                   ValueKind::kProduct}));
  EXPECT_EQ(kinds(DType::kI8, {Op::kCountNonzero}), Kinds{ValueKind::kNonzeroCount});
}

TEST(ValuesTest, OmittingNanCountsTheNanOfFloats) {
  const std::vector<Op> sum = {Op::kSum};
  EXPECT_EQ(ValueKindsOf(DType::kF16, sum, NanPolicy::kOmit),
            (Kinds{ValueKind::kSum, ValueKind::kNanCount}));
  EXPECT_EQ(ValueKindsOf(DType::kI32, sum, NanPolicy::kOmit), Kinds{ValueKind::kSum});
}

// Four bytes before 32 bits each, as docs and clients have them.
TEST(ValuesTest, SumsHaveAtMostTheDigitsOfTheirRange) {
  EXPECT_EQ(ValueBytesMax(ValueKind::kSum, DType::kF16), 20U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kSum, DType::kF32), 48U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kAbsSum, DType::kBF16), 48U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kSum, DType::kF64), 276U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kSquareSum, DType::kF64), 540U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kSum, DType::kI64), 20U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kSquareSum, DType::kU64), 28U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kProduct, DType::kF32), 33U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kProduct, DType::kI32), 16U);
  EXPECT_EQ(ValueBytesMax(ValueKind::kMin, DType::kF64), 8U);
}

}  // namespace
}  // namespace warpfold
