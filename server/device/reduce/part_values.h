// The values by which a part of a tensor travels: one string for each of its kinds, the outputs'
// one after another (kernels/cpu/exact_pack.h).
//
// Step of a request: 3. Pure functions; safe from any thread.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_PART_VALUES_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_PART_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "kernels/values.h"

namespace warpfold {

inline cpu::Job CpuJobOf(const Plan& plan) { return {plan.dtype, plan.fused_op_set()}; }

// So many of a plan's outputs at a time: a state may be many times its values.
inline constexpr std::int64_t kOutputsAtOnce = 1024;

// The values of a part's outputs, of which states_of(first, count) gives the normalised states of
// the CPU, in order. Empty strings of a part without elements. RESOURCE_EXHAUSTED: NoHostMemory.
using StatesOf = absl::FunctionRef<const void*(std::int64_t first, std::int64_t count)>;
absl::StatusOr<std::vector<std::string>> PartValuesOf(const Plan& part, StatesOf states_of);

// Bytes that what a worker leaves, values or results, has at most.
std::size_t OutcomeBytesMax(const Plan& plan);
// What a worker leaves of no elements. REQUIRES: plan.element_count == 0.
absl::StatusOr<std::vector<std::string>> EmptyOutcome(const Plan& plan);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_PART_VALUES_H_
