// The CPU kernels' answers that no rounding is part of are those of all versions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/goldens.h"
#include "tests/kernels/cpu_reduce.h"

namespace warpfold {
namespace {

class CpuGoldenTest : public ::testing::TestWithParam<DType> {};

TEST_P(CpuGoldenTest, AnswersAsEver) {
  testing::ExpectGoldens(GetParam(), [](const Plan& plan, const std::vector<char>& elements) {
    const testing::Results results = testing::Reduce(plan, elements.data(), testing::Shuffled(1));
    if (results.overflow.output_index == Overflow::kNone) {
      return testing::AnswersOf(plan, results.bytes);
    }
    return testing::GoldenAnswers{testing::OverflowAnswer(results.overflow)};
  });
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, CpuGoldenTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
