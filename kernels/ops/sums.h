// SUM, MEAN, VAR, STD and the norms.
#ifndef WARPFOLD_KERNELS_OPS_SUMS_H_
#define WARPFOLD_KERNELS_OPS_SUMS_H_

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/ops/op.h"
#include "kernels/ops/statistic.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

struct SumOp {
  static constexpr OpInfo kInfo{.number = 1,
                                .name = "sum",
                                .summary = "sum",
                                .numpy = "sum",
                                .numpy_nan = "nansum",
                                .needs = {ValueKind::kSum}};
  template <typename T>
  static constexpr Statistic kStatistic = kIsFloat<T> ? Statistic::kSum : Statistic::kNone;
  template <typename T, class Values>
  WARPFOLD_HD static Checked<IntegerOf<T>> Finish(const Values& of) {
    return {int128{of.template Get<ValueKind::kSum>()}};
  }
};

struct MeanOp : RoundedOp<Statistic::kMean> {
  static constexpr OpInfo kInfo{.number = 4,
                                .name = "mean",
                                .summary = "mean",
                                .numpy = "mean",
                                .numpy_nan = "nanmean",
                                .needs = {ValueKind::kSum}};
};

inline constexpr ParamInfo kVarianceParam[] = {
    {.name = "correction", .summary = "what is taken off the count", .preset = 0}};
inline constexpr ParamSet kVarianceParams{"variance", kVarianceParam};

struct VarOp : RoundedOp<Statistic::kVariance> {
  static constexpr OpInfo kInfo{.number = 6,
                                .name = "var",
                                .summary = "variance",
                                .numpy = "var",
                                .numpy_nan = "nanvar",
                                .needs = {ValueKind::kSum, ValueKind::kSquareSum},
                                .params = &kVarianceParams};
};

struct StdOp : RoundedOp<Statistic::kDeviation> {
  static constexpr OpInfo kInfo{.number = 7,
                                .name = "std",
                                .summary = "standard deviation",
                                .numpy = "std",
                                .numpy_nan = "nanstd",
                                .needs = {ValueKind::kSum, ValueKind::kSquareSum},
                                .params = &kVarianceParams};
};

struct L1NormOp : RoundedOp<Statistic::kL1Norm> {
  static constexpr OpInfo kInfo{.number = 8,
                                .name = "l1_norm",
                                .summary = "sum of the absolute values",
                                .numpy = "",
                                .numpy_nan = "",
                                .needs = {ValueKind::kAbsSum}};
};

struct L2NormOp : RoundedOp<Statistic::kL2Norm> {
  static constexpr OpInfo kInfo{.number = 9,
                                .name = "l2_norm",
                                .summary = "root of the sum of the squares",
                                .numpy = "",
                                .numpy_nan = "",
                                .needs = {ValueKind::kSquareSum}};
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_SUMS_H_
