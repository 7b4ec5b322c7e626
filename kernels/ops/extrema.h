// MIN and MAX, and where they are.
#ifndef WARPFOLD_KERNELS_OPS_EXTREMA_H_
#define WARPFOLD_KERNELS_OPS_EXTREMA_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/ops/op.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

struct MinOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 2,
                                .name = "min",
                                .summary = "minimum",
                                .numpy = "min",
                                .numpy_nan = "nanmin",
                                .needs = {ValueKind::kMin},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static T Finish(const Values& of) {
    return FromKey<T>(of.template Get<ValueKind::kMin>());
  }
};

struct MaxOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 3,
                                .name = "max",
                                .summary = "maximum",
                                .numpy = "max",
                                .numpy_nan = "nanmax",
                                .needs = {ValueKind::kMax},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static T Finish(const Values& of) {
    return FromKey<T>(of.template Get<ValueKind::kMax>());
  }
};

struct ArgMinOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 10,
                                .name = "argmin",
                                .summary = "index of the minimum",
                                .numpy = "argmin",
                                .numpy_nan = "nanargmin",
                                .needs = {ValueKind::kArgMin},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.IndexOf(of.template Get<ValueKind::kArgMin>());
  }
};

struct ArgMaxOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 11,
                                .name = "argmax",
                                .summary = "index of the maximum",
                                .numpy = "argmax",
                                .numpy_nan = "nanargmax",
                                .needs = {ValueKind::kArgMax},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.IndexOf(of.template Get<ValueKind::kArgMax>());
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_EXTREMA_H_
