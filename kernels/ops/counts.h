// COUNT_NONZERO, ANY and ALL, NAN_COUNT and INF_COUNT.
#ifndef WARPFOLD_KERNELS_OPS_COUNTS_H_
#define WARPFOLD_KERNELS_OPS_COUNTS_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/ops/op.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

struct CountNonzeroOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 12,
                                .name = "count_nonzero",
                                .summary = "number of elements that are not 0",
                                .numpy = "count_nonzero",
                                .numpy_nan = "",
                                .needs = {ValueKind::kNonzeroCount}};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.template Get<ValueKind::kNonzeroCount>();
  }
};

struct AnyOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 13,
                                .name = "any",
                                .summary = "whether any is not 0",
                                .numpy = "any",
                                .numpy_nan = "",
                                .needs = {ValueKind::kNonzeroCount}};
  template <typename T, class Values>
  WARPFOLD_HD static Bool Finish(const Values& of) {
    return Bool{of.template Get<ValueKind::kNonzeroCount>() > 0};
  }
};

struct AllOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 14,
                                .name = "all",
                                .summary = "whether none is 0",
                                .numpy = "all",
                                .numpy_nan = "",
                                .needs = {ValueKind::kNonzeroCount}};
  template <typename T, class Values>
  WARPFOLD_HD static Bool Finish(const Values& of) {
    return Bool{of.template Get<ValueKind::kNonzeroCount>() >= of.count()};
  }
};

struct NanCountOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 15,
                                .name = "nan_count",
                                .summary = "number of NaN",
                                .numpy = "",
                                .numpy_nan = "",
                                .needs = {ValueKind::kNanCount}};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.template Get<ValueKind::kNanCount>();
  }
};

struct InfCountOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 16,
                                .name = "inf_count",
                                .summary = "number of infinities",
                                .numpy = "",
                                .numpy_nan = "",
                                .needs = {ValueKind::kInfCount}};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.template Get<ValueKind::kInfCount>();
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_COUNTS_H_
