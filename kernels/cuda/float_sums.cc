#include "kernels/cuda/float_sums.h"

#include <algorithm>

#include "kernels/ops/catalogue.h"
#include "kernels/ops/statistic.h"

namespace warpfold::cuda {

bool IsProductOfFloats(Op op) { return StatisticOf<float>(op) == Statistic::kProduct; }

bool IsOfFloatSums(Op op) { return IsOfSums(StatisticOf<float>(op)); }

bool IsSumOfAll(const Plan& plan) {
  return IsFloat(plan.dtype) && plan.ops.size() == 1 &&
         StatisticOf(plan.ops[0], plan.dtype) == Statistic::kSum &&
         plan.nan_policy == NanPolicy::kPropagate && plan.output_count == 1 &&
         plan.geometry.folds.empty();
}

SumsJob SumsJobOf(const Plan& plan, const DeviceShape& device) {
  const bool are_sums_enough = std::ranges::all_of(
      plan.ops, [](Op op) { return !IsOfFloatSums(op) || IsOfSumAlone(StatisticOf<float>(op)); });
  return {.dtype = plan.dtype,
          .sums = are_sums_enough ? exact::Sums::kSum : exact::Sums::kStatistics,
          .omits_nan = plan.nan_policy == NanPolicy::kOmit,
          .device = device};
}

std::int64_t ListedUndecidedMax(std::int64_t outputs) {
  constexpr std::int64_t kLeast = 1024;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  return std::min(outputs, std::clamp(outputs / 32, kLeast, kMost));
}

}  // namespace warpfold::cuda
