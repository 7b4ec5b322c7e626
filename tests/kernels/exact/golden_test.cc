// The judge of reductions answers what no rounding is part of as the goldens, whose truth is
// Python's.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/goldens.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold::testing {
namespace {

TEST(ReductionOracleTest, AgreesWithTheGoldens) {
  int overflows = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Golden& golden : GoldensOf(dtype)) {
      const std::vector<Answer> answers = ReductionAnswers(golden.spec, ElementsOf(golden).data());
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const Answer& answer = answers[i];
        ReduceSpec alone = golden.spec;
        alone.ops = {golden.spec.ops[i]};
        std::string text = AnswersOf(*MakePlan(alone), {answer.bytes})[0];
        if (answer.op_overflow != Answer::kAllFit) {
          ++overflows;
          text = "!" + std::to_string(answer.op_overflow);
          if (alone.ops[0] == Op::kSum) text += ":" + answer.overflow_value.get_str();
        }
        ASSERT_EQ(text, golden.answers[i]) << golden.ToString() << ", " << Name(alone.ops[0]);
      }
    }
  }
  EXPECT_GT(overflows, 0);
}

}  // namespace
}  // namespace warpfold::testing
