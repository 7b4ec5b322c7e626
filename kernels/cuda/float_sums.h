// Which kernels the ops of a reduction of floats take, and how many undecided are listed: for the
// library's Reduction and a server's worker alike.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_CUDA_FLOAT_SUMS_H_
#define WARPFOLD_KERNELS_CUDA_FLOAT_SUMS_H_

#include <cstdint>

#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/output_sums.h"
#include "kernels/plan.h"

namespace warpfold::cuda {

// PROD, which has a fold of its own.
bool IsProductOfFloats(Op op);
// An op that is rounded from sums (output_sums.h).
bool IsOfFloatSums(Op op);
// SUM alone, of all of a tensor, which may be one kernel's (exact_sum.h).
bool IsSumOfAll(const Plan& plan);

// The sums that the plan's ops are rounded from. REQUIRES: there are such.
SumsJob SumsJobOf(const Plan& plan, const DeviceShape& device);

// So many undecided outputs are listed; of more than that all outputs are summed again.
std::int64_t ListedUndecidedMax(std::int64_t outputs);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_FLOAT_SUMS_H_
