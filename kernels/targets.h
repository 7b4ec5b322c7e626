// Where a plan's results go, and what a result is that does not fit.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_TARGETS_H_
#define WARPFOLD_KERNELS_TARGETS_H_

#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kernels/finish.h"
#include "kernels/plan.h"

namespace warpfold {

// Results of `plan` to these arrays, one an op, in the backend's memory.
ResultTargets TargetsOf(const Plan& plan, std::span<void* const> arrays);

// Those of the ops that `keeps` is true of.
ResultTargets TargetsWhere(const ResultTargets& targets, absl::FunctionRef<bool(Op)> keeps);

// Whether a result of `plan` may not fit its dtype: integer sums and products; or whether it may be
// an exact product of floats that may round either way.
bool MayOverflow(const Plan& plan);

// OUT_OF_RANGE when `overflow`, of a reduction by `plan`, holds something, with the exact sum if it
// is one; DATA_LOSS of a product of floats; OK otherwise.
absl::Status OverflowStatus(const Overflow& overflow, const Plan& plan);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_TARGETS_H_
