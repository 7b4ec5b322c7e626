#include "kernels/plan.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/exact/product.h"
#include "kernels/field_error.h"
#include "kernels/ops/catalogue.h"

namespace warpfold {
namespace {

// A maximal run of neighbouring dimensions that are all reduced or all kept.
struct Run {
  bool reduced;
  std::int64_t length;
};

// Of a caller who made an enumerator of any number.
absl::Status CheckNumbers(const ReduceSpec& spec) {
  const auto dtype = static_cast<std::size_t>(spec.dtype);
  if (dtype >= kDTypeCount) {
    return InvalidField(Field::kTensorDType, absl::StrCat(dtype, " is no dtype"));
  }
  for (const Op op : spec.ops) {
    if (static_cast<int>(op) >= kOpCount) {
      return InvalidField(Field::kOps, absl::StrCat(static_cast<int>(op), " is no op"));
    }
  }
  if (spec.nan_policy != NanPolicy::kPropagate && spec.nan_policy != NanPolicy::kOmit) {
    return InvalidField(Field::kNanPolicy,
                        absl::StrCat(static_cast<int>(spec.nan_policy), " is no policy"));
  }
  if (!std::isfinite(spec.correction)) {
    return InvalidField(Field::kOps,
                        absl::StrCat("correction ", spec.correction, " is not a finite number"));
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const ReduceSpec& spec) {
  if (spec.shape.size() > static_cast<std::size_t>(kMaxRank)) {
    return InvalidField(Field::kTensorShape, absl::StrCat("rank ", spec.shape.size(),
                                                          " is above the limit of ", kMaxRank));
  }
  // The bound holds for the product of the nonzero dimensions, as in NumPy: strides of empty
  // tensors must fit too.
  std::int64_t bytes = static_cast<std::int64_t>(ElementBytes(spec.dtype));
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    const std::int64_t length = spec.shape[d];
    if (length < 0) {
      return InvalidField(Field::kTensorShape,
                          absl::StrCat("dimension ", d, " is negative: ", length));
    }
    if (length > 0 && __builtin_mul_overflow(bytes, length, &bytes)) {
      return InvalidField(Field::kTensorShape, "the tensor's byte count does not fit in int64");
    }
  }
  return absl::OkStatus();
}

absl::Status InvalidOp(std::size_t i, absl::string_view text) {
  return FieldStatus(Field::kOps, static_cast<std::int64_t>(i), absl::InvalidArgumentError(text));
}

absl::Status CheckOps(const std::vector<Op>& ops) {
  if (ops.empty()) return InvalidField(Field::kOps, "at least one op is required");
  if (ops.size() > static_cast<std::size_t>(kRequestOpsMax)) {
    return InvalidField(Field::kOps,
                        absl::StrCat(ops.size(), " are above the limit of ", kRequestOpsMax));
  }
  std::bitset<kOpCount> seen;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto op = static_cast<std::size_t>(ops[i]);
    if (seen.test(op)) return InvalidOp(i, absl::StrCat(Name(ops[i]), " is listed twice"));
    seen.set(op);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::bitset<kMaxRank>> ReducedAxes(const ReduceSpec& spec) {
  const std::int64_t rank = static_cast<std::int64_t>(spec.shape.size());
  std::bitset<kMaxRank> reduced;
  if (spec.axes.empty()) {
    for (std::int64_t d = 0; d < rank; ++d) reduced.set(static_cast<std::size_t>(d));
    return reduced;
  }
  for (const std::int64_t axis : spec.axes) {
    if (axis < -rank || axis >= rank) {
      return InvalidField(Field::kAxes,
                          absl::StrCat(axis, " is out of range for a tensor of rank ", rank));
    }
    const std::size_t d = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (reduced.test(d)) {
      return InvalidField(Field::kAxes, absl::StrCat("axis ", d, " is listed twice"));
    }
    reduced.set(d);
  }
  return reduced;
}

std::vector<Run> CollapseRuns(const std::vector<std::int64_t>& shape,
                              const std::bitset<kMaxRank>& reduced) {
  std::vector<Run> runs;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced.test(d)) {
      runs.back().length *= shape[d];
    } else {
      runs.push_back({reduced.test(d), shape[d]});
    }
  }
  return runs;
}

std::vector<ReducedRun> ReducedRuns(const std::vector<Run>& runs) {
  std::vector<ReducedRun> reduced;
  std::int64_t stride = 1;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->reduced) reduced.insert(reduced.begin(), {stride, run->length});
    stride *= run->length;
  }
  return reduced;
}

Geometry MakeGeometry(const std::vector<Run>& runs) {
  Geometry geometry;
  geometry.reduced_runs = ReducedRuns(runs);
  // Walk from the innermost run outwards: kept runs widen what lies behind the next reduced run.
  auto run = runs.rbegin();
  for (; run != runs.rend() && !run->reduced; ++run) geometry.inner *= run->length;
  if (run == runs.rend()) {  // nothing longer than 1 is reduced: every element is its own result
    std::swap(geometry.outer, geometry.inner);
    return geometry;
  }
  geometry.reduce = run->length;
  std::int64_t inner = geometry.inner;
  for (++run; run != runs.rend(); ++run) {
    geometry.outer *= run->length;
    if (run->reduced) {
      geometry.folds.push_back({1, run->length, inner});
    } else {
      inner *= run->length;
      for (Geometry::Fold& fold : geometry.folds) fold.outer *= run->length;
    }
  }
  // A fold's outer extent counts the reduced runs outside it too: they have not been folded yet
  // when its turn comes.
  for (std::size_t f = 0; f < geometry.folds.size(); ++f) {
    for (std::size_t g = f + 1; g < geometry.folds.size(); ++g) {
      geometry.folds[f].outer *= geometry.folds[g].count;
    }
  }
  return geometry;
}

// Fills what follows from the plan's shape.
void FillCounts(Plan& plan) {
  plan.output_count = 1;
  plan.reduced_count = 1;
  for (std::size_t d = 0; d < plan.shape.size(); ++d) {
    (plan.reduced.test(d) ? plan.reduced_count : plan.output_count) *= plan.shape[d];
  }
  plan.element_count = plan.output_count * plan.reduced_count;
  plan.input_bytes = plan.element_count * static_cast<std::int64_t>(ElementBytes(plan.dtype));
  if (plan.element_count > 0) {
    plan.geometry = MakeGeometry(CollapseRuns(plan.shape, plan.reduced));
  } else {
    plan.geometry = {
        .outer = plan.output_count, .reduce = 0, .inner = 1, .folds = {}, .reduced_runs = {}};
  }
}

}  // namespace

DType Plan::result_dtype(std::size_t i) const { return ResultDType(ops[i], dtype); }

std::int64_t Plan::result_bytes(std::size_t i) const {
  return output_count * static_cast<std::int64_t>(ElementBytes(result_dtype(i)));
}

std::int64_t Plan::result_bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) bytes += result_bytes(i);
  return bytes;
}

OutputRows Geometry::output_rows() const {
  OutputRows rows;
  for (const Fold& fold : folds) rows.runs[rows.run_count++] = {fold.count, fold.inner};
  return rows;
}

absl::StatusOr<Plan> MakePlan(const ReduceSpec& spec) {
  if (absl::Status status = CheckNumbers(spec); !status.ok()) return status;
  if (absl::Status status = CheckShape(spec); !status.ok()) return status;
  if (absl::Status status = CheckOps(spec.ops); !status.ok()) return status;
  absl::StatusOr<std::bitset<kMaxRank>> reduced = ReducedAxes(spec);
  if (!reduced.ok()) return reduced.status();

  Plan plan;
  plan.dtype = spec.dtype;
  plan.ops = spec.ops;
  plan.nan_policy = spec.nan_policy;
  plan.correction = spec.correction;
  plan.shape = spec.shape;
  plan.reduced = *reduced;
  FillCounts(plan);
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    if (!reduced->test(d)) {
      plan.result_shape.push_back(spec.shape[d]);
    } else if (spec.keepdims) {
      plan.result_shape.push_back(1);
    }
  }
  const auto is_product_of_floats = [&](Op op) {
    return StatisticOf(op, plan.dtype) == Statistic::kProduct;
  };
  if (plan.element_count > exact::kProductElementsMax &&
      std::ranges::any_of(plan.ops, is_product_of_floats)) {
    return InvalidField(Field::kTensorShape,
                        absl::StrCat(plan.element_count, " elements are above the limit of ",
                                     exact::kProductElementsMax, " for PROD of floats"));
  }
  // Results can be large where the tensor is empty or its axes are short: shape [2^60, 0] reduced
  // along its last axis.
  if (plan.output_count > std::numeric_limits<std::int64_t>::max() / (8 * kRequestOpsMax)) {
    return InvalidField(Field::kTensorShape, "the results' byte count does not fit in int64");
  }
  if (plan.reduced_count == 0 && plan.output_count > 0) {
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
      const Op op = spec.ops[i];
      if (InfoOf(op).has_empty) continue;
      return InvalidOp(i, absl::StrCat(Name(op), " of no elements has no answer"));
    }
  }
  return plan;
}

absl::Status BuiltStatus(DType dtype) {
  if (std::ranges::find(kAllDTypes, dtype) != kAllDTypes.end()) return absl::OkStatus();
  return FieldStatus(Field::kTensorDType, absl::UnimplementedError(absl::StrCat(
                                              "this build has no kernels of ", Name(dtype))));
}

Plan Reshaped(const Plan& plan, std::vector<std::int64_t> shape) {
  Plan reshaped = plan;
  reshaped.shape = std::move(shape);
  reshaped.result_shape.clear();
  FillCounts(reshaped);
  return reshaped;
}

}  // namespace warpfold
