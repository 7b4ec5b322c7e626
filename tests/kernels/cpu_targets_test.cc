// Every SIMD width that this processor has gives the bits of the canonical order, not only the one
// that it would choose.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/cpu/each_loop.h"  // which widths are compiled
// Which has to know.
#include "hwy/targets.h"
#include "kernels/cpu/tile_loops.h"
#include "tests/kernels/cpu_reduce.h"
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
void ExpectCanonicalBitsOf(DType dtype, const std::string& target) {
  std::mt19937_64 random(37);
  for (int i = 0; i < 40; ++i) {
    testing::Case c = testing::RandomCase(dtype, 20000, random);
    const absl::StatusOr<Plan> plan = MakePlan(c.spec);
    ASSERT_TRUE(plan.ok()) << plan.status() << c.ToString();
    std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(plan->element_count), random);
    if (c.spec.nan_policy == NanPolicy::kOmit) testing::StrewNan(data, random);
    const testing::Results results = testing::Reduce(*plan, data.data(), cpu::Serial);
    const std::vector<std::string> expected = testing::ExpectedResults<T>(*plan, c.spec, data);
    for (std::size_t op = 0; op < expected.size(); ++op) {
      ASSERT_TRUE(results.bytes[op] == expected[op])
          << target << ", case " << i << ": " << c.ToString() << ", " << Name(c.spec.ops[op]);
    }
  }
}

TEST_F(CpuTargets, GiveTheCanonicalBits) {
  std::set<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    Choose(target);
    const std::string name = cpu::SimdTargetName();
    EXPECT_TRUE(names.insert(name).second) << name << " was chosen twice";
    for (const DType dtype : kAllDTypes) {
      VisitDType(dtype, [&](auto tag) {
        ExpectCanonicalBitsOf<typename decltype(tag)::type>(dtype, name);
      });
    }
  }
  if (names.size() < 2) GTEST_SKIP() << "one width alone here: " << *names.begin();
}

}  // namespace
}  // namespace warpfold
