// What the CPU backend makes of a tensor, for kernels that must give the same bits.
#ifndef WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_
#define WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "server/device/reduce/results.h"
#include "tests/kernels/op_lists.h"

namespace warpfold::testing {

// An array for each op. What an integer sum or product that does not fit
// leaves is unspecified.
inline std::vector<std::string> ResultsOnCpu(const Plan& plan, const void* data) {
  const Geometry& g = plan.geometry;
  const ResultLayout layout(plan);
  std::vector<char> block(layout.total_bytes());
  Overflow overflow;
  Output output;
  output.targets = layout.Targets(plan, block.data());
  output.overflow = &overflow;
  cpu::EngineFor({plan.dtype, plan.fused_op_set()})
      .FoldElements(data, {g.outer, g.reduce, g.inner}, output, cpu::Serial);
  return *layout.Extract(block.data());
}

// Whether a GPU's one pass over the elements tells the result for sure: bounded sums may not.
inline bool IsOfOnePass(Op op, DType dtype) {
  constexpr Op kSums[] = {Op::kSum, Op::kMean,   Op::kProd,  Op::kVar,
                          Op::kStd, Op::kL1Norm, Op::kL2Norm};
  return !IsFloat(dtype) || std::find(std::begin(kSums), std::end(kSums), op) == std::end(kSums);
}

// Ops of one pass that each fused op set is taken for, at least one of each.
inline std::vector<std::vector<Op>> OpsOfEachFusedOpSet(DType dtype) {
  std::vector<std::vector<Op>> all = {
      {Op::kSum, Op::kMean},
      {Op::kMin},
      {Op::kMax},
      {Op::kAny, Op::kCountNonzero},
      {Op::kSum, Op::kMin, Op::kMax, Op::kMean},
      {Op::kArgMin},
      {Op::kArgMax},
      {Op::kArgMax, Op::kArgMin},
      {Op::kVar, Op::kL1Norm, Op::kL2Norm, Op::kNanCount, Op::kInfCount},
      {Op::kMaxAbs, Op::kPtp},
      FirstOps(),
      LastOps()};
  for (std::vector<Op>& ops : all) {
    std::erase_if(ops, [&](Op op) { return !IsOfOnePass(op, dtype); });
  }
  std::erase_if(all, [](const std::vector<Op>& ops) { return ops.empty(); });
  return all;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_CPU_RESULTS_H_
