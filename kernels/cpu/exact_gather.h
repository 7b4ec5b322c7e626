// Exact states (kernels/exact/fold.h) of what kernels/cuda leaves of a tensor's outputs: states of
// its folds (kernels/exact/folds.h), products and sums, each by itself.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_GATHER_H_
#define WARPFOLD_KERNELS_CPU_EXACT_GATHER_H_

#include <cstdint>

#include "kernels/cpu/reduce.h"
#include "kernels/exact/sums.h"

namespace warpfold::cpu {

// In host memory, one behind the other for each output. Null is what there is none of.
struct DeviceStates {
  const void* folded = nullptr;    // of exact::VisitFold's fold of the job's fused op set
  const void* products = nullptr;  // of floats, of exact::ProductFold
  const void* sums = nullptr;      // of floats, exact::OutputSums, not normalised
  exact::Sums sums_kind = exact::Sums::kNone;
};

// The normalised states of outputs [first, first + count). What there is none of has the identity.
void GatherExactly(const Job& job, const DeviceStates& from, std::int64_t first, std::int64_t count,
                   void* states);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_GATHER_H_
