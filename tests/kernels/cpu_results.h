// What the CPU backend makes of a tensor, for kernels that must give the same bits.
#ifndef WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_
#define WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_

#include <iterator>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "server/device/results.h"

namespace warpfold::testing {

// An array for each op, of sums in their order. What an integer sum or product that does not fit
// leaves is unspecified.
inline std::vector<std::string> ResultsOnCpu(const Plan& plan, const void* data) {
  const Geometry& g = plan.geometry;
  const ResultLayout layout(plan);
  std::vector<char> block(layout.total_bytes());
  Overflow overflow;
  Output output;
  output.targets = layout.Targets(plan, block.data());
  output.overflow = &overflow;
  cpu::FoldElements({plan.dtype, plan.bundle(), Numerics::kOrdered}, data,
                    {g.outer, g.reduce, g.inner}, output, cpu::Serial);
  return *layout.Extract(block.data());
}

inline std::vector<std::vector<Op>> OpsOfEachBundle() {
  return {{Op::kSum, Op::kMean},
          {Op::kMin},
          {Op::kMax},
          {Op::kAny, Op::kCountNonzero},
          {Op::kSum, Op::kMin, Op::kMax, Op::kMean},
          {Op::kArgMin},
          {Op::kArgMax},
          {Op::kArgMax, Op::kArgMin},
          {Op::kVar, Op::kL1Norm, Op::kL2Norm, Op::kNanCount, Op::kInfCount},
          {std::begin(kAllOps), std::end(kAllOps)}};
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_
