#include "kernels/targets.h"

#include <algorithm>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/statistic.h"

namespace warpfold {
namespace {

std::string Decimal(absl::int128 value) {
  // absl 20220623 prints int128 through streams only; digits from the low end.
  if (value == 0) return "0";
  const bool negative = value < 0;
  absl::uint128 left =
      negative ? -static_cast<absl::uint128>(value) : static_cast<absl::uint128>(value);
  std::string digits;
  for (; left != 0; left /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  }
  return negative ? absl::StrCat("-", digits) : digits;
}

}  // namespace

ResultTargets TargetsOf(const Plan& plan, std::span<void* const> arrays) {
  ResultTargets targets;
  targets.count = static_cast<int>(plan.ops.size());
  targets.reduced_count = plan.reduced_count;
  targets.correction = plan.correction;
  targets.reduced_run_count = static_cast<int>(plan.geometry.reduced_runs.size());
  std::ranges::copy(plan.geometry.reduced_runs, targets.reduced_runs);
  std::ranges::copy(plan.ops, targets.ops);
  std::ranges::copy(arrays, targets.arrays);
  return targets;
}

ResultTargets TargetsWhere(const ResultTargets& targets, absl::FunctionRef<bool(Op)> keeps) {
  ResultTargets kept = targets;
  kept.count = 0;
  for (int i = 0; i < targets.count; ++i) {
    if (!keeps(targets.ops[i])) continue;
    kept.ops[kept.count] = targets.ops[i];
    kept.arrays[kept.count++] = targets.arrays[i];
  }
  return kept;
}

bool MayOverflow(const Plan& plan) {
  return !plan.leaves_states &&
         std::ranges::any_of(plan.ops, [&](Op op) { return MayBeRefused(op, plan.dtype); });
}

absl::Status OverflowStatus(const Overflow& overflow, const Plan& plan) {
  if (overflow.output_index == Overflow::kNone) return absl::OkStatus();
  const char* result = Name(ResultDType(overflow.op, plan.dtype));
  const std::int64_t output = plan.first_output + overflow.output_index;
  const std::string what =
      absl::StrCat("the ", InfoOf(overflow.op).summary, " of output element ", output);
  if (StatisticOf(overflow.op, plan.dtype) == Statistic::kProduct) {
    return FieldStatus(Field::kOps, absl::DataLossError(absl::StrCat(
                                        what, " lies too close to the middle of two numbers of ",
                                        result, " to tell which is nearer")));
  }
  const absl::int128 exact = absl::MakeInt128(overflow.high, overflow.low);
  const std::string value = exact == 0 ? "" : absl::StrCat(" is ", Decimal(exact), ", which");
  return FieldStatus(Field::kOps,
                     absl::OutOfRangeError(absl::StrCat(what, value, " does not fit in ", result)));
}

}  // namespace warpfold
