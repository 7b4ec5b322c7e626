#include "kernels/part.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/canonical.h"

namespace warpfold {
namespace {

bool AnyDependsOnOrder(const Plan& plan) {
  const std::vector<ValueKind> kinds = ValueKindsOf(plan);
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](ValueKind kind) { return DependsOnOrder(kind, plan.dtype); });
}

// The run's indices of one leaf of the tree over it. REQUIRES: a value depends on the order.
std::int64_t LeafLength(const Plan& whole) {
  if (!whole.geometry.folds.empty()) return 1;
  if (whole.geometry.inner > 1) return kLeafRows;
  return static_cast<std::int64_t>(kTileBytes / ElementBytes(whole.dtype));
}

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

// The nodes that make up `range`; the last one may reach past the whole's end if it may be
// `cut_short`.
std::vector<Range> CoverOf(const Plan& whole, const Range& range, bool cut_short) {
  if (whole.element_count == 0 || range.length() == 0) return {};
  if (!AnyDependsOnOrder(whole)) return {range};
  const std::int64_t leaf = LeafLength(whole);
  const std::int64_t end = CeilDiv(range.end, leaf);
  const bool to_the_end = cut_short && range.end == whole.outer_run.length;
  std::vector<Range> nodes;
  for (std::int64_t at = range.begin / leaf; at < end;) {
    const auto left = static_cast<std::uint64_t>(end - at);
    std::int64_t leaves =
        static_cast<std::int64_t>(to_the_end ? std::bit_ceil(left) : std::bit_floor(left));
    if (at > 0) leaves = std::min(leaves, at & -at);
    nodes.push_back({at * leaf, std::min((at + leaves) * leaf, range.end)});
    at += leaves;
  }
  return nodes;
}

}  // namespace

absl::Status CheckCut(const Plan& whole, std::int64_t index, Field field) {
  const std::int64_t length = whole.outer_run.length;
  const std::int64_t step =
      whole.element_count > 0 && AnyDependsOnOrder(whole) ? LeafLength(whole) : 1;
  if (index % step == 0 || index == length) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("no cut may fall at index ", index,
                                          " of the outermost reduced run: only at multiples of ",
                                          step, " and at its end, ", length));
}

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
  const Range range{offset, offset + length};
  absl::Status status = CheckCut(whole, range.begin, Field::kPartOffset);
  if (status.ok()) status = CheckCut(whole, range.end, Field::kTensorShape);
  if (!status.ok()) return status;
  return Part{std::move(spec), std::move(whole), range};
}

std::vector<Range> NodesOf(const Plan& whole, const Range& range) {
  return CoverOf(whole, range, /*cut_short=*/false);
}

std::vector<Range> SubtreesOf(const Plan& whole, const Range& range) {
  return CoverOf(whole, range, /*cut_short=*/true);
}

bool AreHalves(const Plan& whole, const Range& left, const Range& right) {
  if (!AnyDependsOnOrder(whole)) return true;
  const std::int64_t leaf = LeafLength(whole);
  const std::int64_t leaves = CeilDiv(left.length(), leaf);
  return CeilDiv(right.length(), leaf) == leaves && left.begin / leaf % (2 * leaves) == 0;
}

std::int64_t PlaneCount(const Plan& whole) {
  const Geometry& g = whole.geometry;
  return g.folds.empty() ? g.outer : g.folds.back().outer;
}

std::int64_t RowElements(const Plan& whole) {
  return whole.element_count / PlaneCount(whole) / whole.outer_run.length;
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
