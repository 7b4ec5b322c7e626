// Parts of a tensor: where it may be cut, and what a part is reduced to.
//
// A part is a box, cut anywhere along the reduced dimensions and as long as the whole in the kept
// ones, reduced anywhere, on its own. Its values add to those of the other parts, in any order.
//
// Pure functions, no state; safe from any thread.
#ifndef WARPFOLD_KERNELS_PART_H_
#define WARPFOLD_KERNELS_PART_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/field_error.h"
#include "kernels/plan.h"
#include "kernels/values.h"

namespace warpfold {

// Of a tensor of the same rank: the index at which it begins in each dimension, and how many
// follow.
struct Box {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> shape;

  std::int64_t end(std::size_t dimension) const { return offset[dimension] + shape[dimension]; }
  bool is_empty() const;
  bool operator==(const Box&) const = default;
};
Box BoxOf(const Plan& whole);

// What is wrong with a box as a part of `whole`, and whether it is its shape or its offset.
struct BoxFault {
  bool is_of_shape;
  std::string text;
};
std::optional<BoxFault> FaultOf(const Plan& whole, const Box& box);

// A part of a tensor. MakePart makes right ones.
struct Part {
  ReduceSpec spec;  // of the whole
  Plan whole;
  Box box;
};

inline std::vector<ValueKind> ValueKindsOf(const Plan& plan) {
  return ValueKindsOf(plan.dtype, plan.ops, plan.nan_policy);
}

// The part `box` of `spec`'s tensor; `whole` is `spec`'s plan. INVALID_ARGUMENT `tensor.shape` or
// `part.offset` where it is none.
absl::StatusOr<Part> MakePart(ReduceSpec spec, Plan whole, Box box);

// Of a part what one output stands for: so many elements, and which indices they have among the
// whole's reduced axes.
struct ReducedElements {
  // A dimension of which the part does not have all.
  struct Cut {
    std::int64_t index_stride = 1;
    std::int64_t whole_length = 1;
    std::int64_t begin = 0;
    std::int64_t end = 1;
  };
  std::int64_t count = 0;
  std::int64_t whole_count = 0;
  std::vector<Cut> cuts;

  // `index` may be any number.
  bool Has(std::int64_t index) const;
};
// REQUIRES: no fault.
ReducedElements ReducedElementsOf(const Plan& whole, const Box& box);

// The reduction of the box: to results where no dimension that is reduced is cut, else to states if
// the caller says so. The kept ones may be cut, too. REQUIRES: it lies in the whole.
Plan CutPlan(const Plan& whole, const Box& box);

// The part as one reduction, to states.
Plan PlanOf(const Part& part);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_PART_H_
