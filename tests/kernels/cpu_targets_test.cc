// Every SIMD width that this processor has gives the exact results, not only the one
// that it would choose.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/cpu/loop_table.h"  // which widths are compiled
// Which has to know.
#include "hwy/targets.h"
#include "kernels/cpu/tile_loops.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

class CpuTargets : public ::testing::Test {
 protected:
  void TearDown() override { Choose(0); }

  // 0: what the processor would choose.
  static void Choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

template <typename T>
void ExpectExactBitsOf(DType dtype, const std::string& target) {
  std::mt19937_64 random(37);
  for (int i = 0; i < testing::Rounds(40); ++i) {
    testing::Case c = testing::RandomCase(dtype, 20000, random);
    const absl::StatusOr<Plan> plan = MakePlan(c.spec);
    ASSERT_TRUE(plan.ok()) << plan.status() << c.ToString();
    std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(plan->element_count), random);
    if (c.spec.nan_policy == NanPolicy::kOmit) testing::StrewNan(data, random);
    const testing::Results results = testing::Reduce(*plan, data.data(), cpu::Serial);
    const std::vector<std::string> expected = testing::ExpectedResults<T>(c.spec, data);
    for (std::size_t op = 0; op < expected.size(); ++op) {
      ASSERT_TRUE(results.bytes[op] == expected[op])
          << target << ", case " << i << ": " << c.ToString() << ", " << Name(c.spec.ops[op]);
    }
  }
}

// Folds of one component have ways of their own along columns and to their results, which go by
// blocks of columns.
template <typename T>
void ExpectExactBitsOfOneOp(DType dtype, const std::string& target) {
  std::mt19937_64 random(38);
  for (const Op op : {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kAny, Op::kCountNonzero}) {
    for (const std::int64_t rows : {1, 2, 3, 8, 9, 61}) {
      for (const std::int64_t columns : {3, 64, 130, 2500}) {
        const bool is_rows = random() % 4 == 0;  // short ones
        const std::vector<std::int64_t> shape = {is_rows ? columns : rows,
                                                 is_rows ? rows : columns};
        const testing::Case c{
            {.dtype = dtype, .shape = shape, .ops = {op}, .axes = {is_rows ? 1 : 0}}};
        const Plan plan = *MakePlan(c.spec);
        std::vector<T> data =
            testing::RandomElements<T>(static_cast<std::size_t>(plan.element_count), random);
        testing::StrewNan(data, random);
        const testing::Results results = testing::Reduce(plan, data.data(), cpu::Serial);
        ASSERT_TRUE(results.bytes[0] == testing::ExpectedResults<T>(c.spec, data)[0])
            << target << ": " << c.ToString() << ", " << Name(op);
      }
    }
  }
}

TEST_F(CpuTargets, GiveTheExactBits) {
  std::set<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    Choose(target);
    const std::string name = cpu::SimdTargetName();
    EXPECT_TRUE(names.insert(name).second) << name << " was chosen twice";
    for (const DType dtype : kAllDTypes) {
      VisitDType(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        ExpectExactBitsOf<T>(dtype, name);
        ExpectExactBitsOfOneOp<T>(dtype, name);
      });
    }
  }
  if (names.size() < 2) GTEST_SKIP() << "one width alone here: " << *names.begin();
}

}  // namespace
}  // namespace warpfold
