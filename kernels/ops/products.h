// PROD.
#ifndef WARPFOLD_KERNELS_OPS_PRODUCTS_H_
#define WARPFOLD_KERNELS_OPS_PRODUCTS_H_

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/ops/op.h"
#include "kernels/ops/statistic.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

struct ProdOp {
  static constexpr OpInfo kInfo{.number = 5,
                                .name = "prod",
                                .summary = "product",
                                .numpy = "prod",
                                .numpy_nan = "nanprod",
                                .needs = {ValueKind::kProduct}};
  template <typename T>
  static constexpr Statistic kStatistic = kIsFloat<T> ? Statistic::kProduct : Statistic::kNone;
  template <typename T, class Values>
  WARPFOLD_HD static Checked<IntegerOf<T>> Finish(const Values& of) {
    const auto product = of.template Get<ValueKind::kProduct>();
    const bool is_past = product.past != 0;
    // 2^64 fits no result.
    const int128 magnitude = is_past ? int128{1} << 64 : int128{product.magnitude};
    return {product.negative != 0 ? -magnitude : magnitude, false};
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_PRODUCTS_H_
