// What exact sums and products are rounded to.
#ifndef WARPFOLD_KERNELS_OPS_STATISTIC_H_
#define WARPFOLD_KERNELS_OPS_STATISTIC_H_

#include <cstdint>

#include "kernels/host_device.h"

namespace warpfold {

// An op says which one it is (kernels/ops); kNone: it is read from values that need no rounding.
enum class Statistic : std::uint8_t {
  kNone,
  kSum,
  kMean,
  kL1Norm,
  kL2Norm,
  kVariance,
  kDeviation,
  kProduct
};

// Whether it is rounded from sums.
WARPFOLD_HD constexpr bool IsOfSums(Statistic statistic) {
  return statistic != Statistic::kNone && statistic != Statistic::kProduct;
}
// Whether the sum of the elements is enough for it, without absolute values and squares.
WARPFOLD_HD constexpr bool IsOfSumAlone(Statistic statistic) {
  return statistic == Statistic::kSum || statistic == Statistic::kMean;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_STATISTIC_H_
