// What reductions without rounding must answer for ever: integer sums and products, extrema, their
// indices and counts, from reductions.txt. make_reductions.py, which wrote it, says what its
// elements and answers are.
#ifndef WARPFOLD_TESTS_GOLDEN_GOLDENS_H_
#define WARPFOLD_TESTS_GOLDEN_GOLDENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/finish.h"
#include "kernels/plan.h"
#include "kernels/types.h"

namespace warpfold::testing {

// An answer as the file has it, of each of a reduction's ops.
using GoldenAnswers = std::vector<std::string>;

struct Golden {
  std::string ToString() const;

  ReduceSpec spec;
  int shape_number = 0;
  GoldenAnswers answers;  // of spec.ops
};

// Of all shapes and both policies.
std::vector<Golden> GoldensOf(DType dtype);
// The elements, as they are in memory.
std::vector<char> ElementsOf(const Golden& golden);

// Of results, an array for each op, or of the one op whose result did not fit.
GoldenAnswers AnswersOf(const Plan& plan, const std::vector<std::string>& results);
std::string OverflowAnswer(const Overflow& overflow);

// `reduce(const Plan&, const std::vector<char>& elements)` is the GoldenAnswers of the plan's ops:
// of each op alone, and of all together that fit any result.
template <class Reduce>
void ExpectGoldens(DType dtype, const Reduce& reduce) {
  for (const Golden& golden : GoldensOf(dtype)) {
    const std::vector<char> elements = ElementsOf(golden);
    ReduceSpec together = golden.spec;
    together.ops.clear();
    GoldenAnswers answers;
    for (std::size_t i = 0; i < golden.answers.size(); ++i) {
      const Op op = golden.spec.ops[i];
      ReduceSpec alone = golden.spec;
      alone.ops = {op};
      ASSERT_EQ(reduce(*MakePlan(alone), elements), GoldenAnswers{golden.answers[i]})
          << golden.ToString() << ", " << Name(op);
      if (op == Op::kSum || op == Op::kProd) continue;
      together.ops.push_back(op);
      answers.push_back(golden.answers[i]);
    }
    ASSERT_EQ(reduce(*MakePlan(together), elements), answers) << golden.ToString() << ", together";
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_GOLDEN_GOLDENS_H_
