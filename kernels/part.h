// Parts of a tensor: where it may be cut, and what a part is reduced to.
//
// A part is a range of the tensor's outermost reduced run, which may begin and end anywhere,
// reduced anywhere, on its own. Its values add to those of the other parts, in any order.
//
// Pure functions, no state; safe from any thread.
#ifndef WARPFOLD_KERNELS_PART_H_
#define WARPFOLD_KERNELS_PART_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/field_error.h"
#include "kernels/plan.h"
#include "kernels/values.h"

namespace warpfold {

// Indices of a tensor's outermost reduced run.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t length() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// A part of a tensor. MakePart makes right ones.
struct Part {
  ReduceSpec spec;  // of the whole
  Plan whole;
  Range range;
};

inline std::vector<ValueKind> ValueKindsOf(const Plan& plan) {
  return ValueKindsOf(plan.dtype, plan.ops, plan.nan_policy);
}

// The part of `spec`'s tensor that has `shape` and starts at the run's index `offset`; `whole` is
// `spec`'s plan. INVALID_ARGUMENT `tensor.shape` or `part.offset` where the part is none.
absl::StatusOr<Part> MakePart(ReduceSpec spec, Plan whole, const std::vector<std::int64_t>& shape,
                              std::int64_t offset);

// Kept elements outside the outermost reduced run: it lies in each of so many planes.
// REQUIRES, here and below: the whole has elements.
std::int64_t PlaneCount(const Plan& whole);

// Of `range` what one output stands for: so many elements, with these indices among the whole's
// reduced axes.
struct ReducedElements {
  std::int64_t count = 0;
  std::int64_t first_index = 0;
};
ReducedElements ReducedElementsOf(const Plan& whole, const Range& range);

// The reduction of `range` in `planes` of the planes, to states. REQUIRES: 0 < planes <=
// PlaneCount(whole).
Plan SlicePlan(const Plan& whole, std::int64_t planes, const Range& range);

// The part as one reduction, to states.
Plan PlanOf(const Part& part);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_PART_H_
