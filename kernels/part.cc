#include "kernels/part.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

absl::Status CheckShape(const Plan& whole, const std::vector<std::int64_t>& whole_shape,
                        const std::vector<std::int64_t>& shape) {
  if (shape.size() != whole_shape.size()) {
    return InvalidField(
        Field::kTensorShape,
        absl::StrCat("has ", shape.size(), " dimensions, but the whole has ", whole_shape.size()));
  }
  const OuterRun& run = whole.outer_run;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool in_run = whole_shape[d] != 1 && static_cast<int>(d) >= run.first_dimension &&
                        static_cast<int>(d) < run.end_dimension;
    if (shape[d] != whole_shape[d] && !in_run) {
      return InvalidField(
          Field::kTensorShape,
          absl::StrCat("dimension ", d, " is ", shape[d], ", but the whole's is ", whole_shape[d],
                       ", and it is not in the outermost reduced run"));
    }
    if (shape[d] < 0) {
      return InvalidField(Field::kTensorShape,
                          absl::StrCat("dimension ", d, " is negative: ", shape[d]));
    }
  }
  return absl::OkStatus();
}

// Indices of the run in a part of `shape`, which CheckShape found right. More than the run has when
// the number does not fit.
std::int64_t RunLength(const Plan& whole, const std::vector<std::int64_t>& shape) {
  std::int64_t length = 1;
  bool fits = true;
  for (int d = whole.outer_run.first_dimension; d < whole.outer_run.end_dimension; ++d) {
    const std::int64_t dimension = shape[static_cast<std::size_t>(d)];
    if (dimension == 0) return 0;
    fits = fits && !__builtin_mul_overflow(length, dimension, &length);
  }
  return fits ? length : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

absl::StatusOr<Part> MakePart(ReduceSpec spec, Plan whole, const std::vector<std::int64_t>& shape,
                              std::int64_t offset) {
  if (absl::Status status = CheckShape(whole, spec.shape, shape); !status.ok()) return status;
  const std::int64_t length = RunLength(whole, shape);
  if (offset < 0) {
    return InvalidField(Field::kPartOffset, absl::StrCat("is negative: ", offset));
  }
  const std::int64_t run_length = whole.outer_run.length;
  if (length > run_length || offset > run_length - length) {
    return InvalidField(Field::kPartOffset,
                        absl::StrCat(length, " indices from ", offset,
                                     " on are not in the outermost reduced run of ", run_length));
  }
  return Part{std::move(spec), std::move(whole), {offset, offset + length}};
}

std::int64_t PlaneCount(const Plan& whole) {
  const Geometry& g = whole.geometry;
  return g.folds.empty() ? g.outer : g.folds.back().outer;
}

ReducedElements ReducedElementsOf(const Plan& whole, const Range& range) {
  const std::int64_t elements = whole.reduced_count / whole.outer_run.length;
  return {range.length() * elements, range.begin * elements};
}

Plan SlicePlan(const Plan& whole, std::int64_t planes, const Range& range) {
  const std::int64_t all_planes = PlaneCount(whole);
  const std::int64_t length = range.length();
  Plan plan = whole;
  Geometry& g = plan.geometry;
  if (g.folds.empty()) {
    g.outer = planes;
    g.reduce = length;
  } else {
    const std::int64_t rows = all_planes * whole.outer_run.length;
    const auto cut = [&](std::int64_t outer) { return outer / rows * planes * length; };
    g.outer = cut(g.outer);
    for (std::size_t f = 0; f + 1 < g.folds.size(); ++f) g.folds[f].outer = cut(g.folds[f].outer);
    g.folds.back().outer = planes;
    g.folds.back().count = length;
    if (length == 1) g.folds.pop_back();
  }
  if (!g.reduced_runs.empty()) g.reduced_runs.front().length = length;
  plan.output_count = whole.output_count / all_planes * planes;
  const ReducedElements reduced = ReducedElementsOf(whole, range);
  plan.reduced_count = reduced.count;
  plan.first_reduced_index = reduced.first_index;
  plan.element_count = plan.output_count * plan.reduced_count;
  plan.input_bytes = plan.element_count * static_cast<std::int64_t>(ElementBytes(plan.dtype));
  plan.leaves_states = true;
  return plan;
}

Plan PlanOf(const Part& part) {
  if (part.whole.element_count > 0) {
    return SlicePlan(part.whole, PlaneCount(part.whole), part.range);
  }
  Plan plan = part.whole;
  plan.leaves_states = true;
  return plan;
}

}  // namespace warpfold
