// What the catalogues of ops and dtypes say, against tables by hand.
#include "kernels/dtypes/catalogue.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/fusions.h"
#include "tests/kernels/exact/result_dtype.h"

namespace warpfold {
namespace {

using ::testing::UnorderedElementsAre;

TEST(CatalogueTest, AResultHasTheDTypeThatTheContractNames) {
  for (const Op op : kAllOps) {
    for (const DType dtype : kAllDTypes) {
      EXPECT_EQ(ResultDType(op, dtype), testing::ExpectedResultDType(op, dtype))
          << Name(op) << " of " << Name(dtype);
    }
  }
}

TEST(CatalogueTest, SumsOfIntegersAndProductsMayBeRefused) {
  for (const Op op : kAllOps) {
    for (const DType dtype : kAllDTypes) {
      EXPECT_EQ(MayBeRefused(op, dtype), op == Op::kProd || (op == Op::kSum && !IsFloat(dtype)))
          << Name(op) << " of " << Name(dtype);
    }
  }
}

TEST(CatalogueTest, OpsThatHaveNoIdentityRefuseNoElements) {
  std::vector<Op> refuse;
  for (const Op op : kAllOps) {
    if (!InfoOf(op).has_empty) refuse.push_back(op);
  }
  EXPECT_THAT(refuse, UnorderedElementsAre(Op::kMin, Op::kMax, Op::kPtp, Op::kArgMin, Op::kArgMax));
}

TEST(CatalogueTest, NoNameOrNumberIsTwoOpsOrTwoDTypes) {
  std::set<std::string> names;
  std::set<int> numbers;
  for (const Op op : kAllOps) {
    EXPECT_TRUE(names.insert(InfoOf(op).name).second) << Name(op);
    EXPECT_TRUE(numbers.insert(InfoOf(op).number).second) << Name(op);
  }
  const auto each_once = [](const char* DTypeRow::*name) {
    std::set<std::string> of_format;
    for (const DTypeRow& row : kDTypeRows) {
      if (std::string(row.*name).empty()) continue;
      EXPECT_TRUE(of_format.insert(row.*name).second) << row.*name;
    }
  };
  each_once(&DTypeRow::name);
  each_once(&DTypeRow::numpy);
  each_once(&DTypeRow::npy);
  each_once(&DTypeRow::safetensors);
  each_once(&DTypeRow::kserve);
  numbers.clear();
  for (const DTypeRow& row : kDTypeRows) EXPECT_TRUE(numbers.insert(row.number).second) << row.name;
}

TEST(CatalogueTest, AnOpIsRoundedOrFinishes) {
  const auto rounded = [](DType dtype) {
    std::vector<Op> ops;
    for (const Op op : kAllOps) {
      if (StatisticOf(op, dtype) != Statistic::kNone) ops.push_back(op);
    }
    return ops;
  };
  EXPECT_THAT(rounded(DType::kI32),
              UnorderedElementsAre(Op::kMean, Op::kVar, Op::kStd, Op::kL1Norm, Op::kL2Norm));
  EXPECT_THAT(rounded(DType::kF16), UnorderedElementsAre(Op::kSum, Op::kProd, Op::kMean, Op::kVar,
                                                         Op::kStd, Op::kL1Norm, Op::kL2Norm));
  for (const Op op : kAllOps) {
    EXPECT_EQ(StatisticOf<float>(op), StatisticOf(op, DType::kF32)) << Name(op);
    EXPECT_EQ(StatisticOf<std::int8_t>(op), StatisticOf(op, DType::kI8)) << Name(op);
  }
}

// Its results are pairs.
struct PairOp {
  static constexpr int kTrailingDims = 1;
};

TEST(CatalogueTest, AnOpSaysHowManyDimensionsItsResultsHaveOfTheirOwn) {
  EXPECT_EQ(TrailingDimsOf<PairOp>(), 1);
  for (const Op op : kAllOps) EXPECT_EQ(TrailingDims(op), 0) << Name(op);
}

TEST(CatalogueTest, TheSmallestFusionThatHoldsARequestServesIt) {
  for (unsigned set = 1; set < 1u << kOpCount; ++set) {
    std::vector<Op> ops;
    for (const Op op : kAllOps) {
      if ((set >> static_cast<int>(op) & 1) != 0) ops.push_back(op);
    }
    const KindSet needs = NeedsOf(ops);
    const FusionRow& chosen = RowOf(FusedOpSetFor(DType::kF32, ops, NanPolicy::kPropagate));
    ASSERT_TRUE(chosen.holds.HasAllOf(needs)) << set;
    for (const FusionRow& row : kFusionRows) {
      ASSERT_TRUE(!row.holds.HasAllOf(needs) || row.holds.size() >= chosen.holds.size())
          << row.name << " instead of " << chosen.name << " for " << set;
    }
    ASSERT_NE(chosen.fused_op_set, FusedOpSet::kOmitNan);
    ASSERT_EQ(FusedOpSetFor(DType::kF64, ops, NanPolicy::kOmit), FusedOpSet::kOmitNan);
    ASSERT_EQ(FusedOpSetFor(DType::kU8, ops, NanPolicy::kOmit), chosen.fused_op_set);
  }
}

}  // namespace
}  // namespace warpfold
