// The fusions of components that are compiled, and which of them serves a request.
#ifndef WARPFOLD_KERNELS_BUNDLE_H_
#define WARPFOLD_KERNELS_BUNDLE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/types.h"

namespace warpfold {

// The fusions that are compiled. A request runs on the smallest one that holds its ops: a component
// that nobody asked for costs little while a pass is bound by memory, and every further fusion
// costs build time.
enum class Bundle : std::uint8_t {
  kSum,
  kMin,
  kMax,
  kNonzero,
  kRange,
  kStatistics,
  kArg,
  kAll,
  kOmitNan
};

constexpr Bundle BundleOf(Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return Bundle::kSum;
    case Op::kMin:
      return Bundle::kMin;
    case Op::kMax:
      return Bundle::kMax;
    case Op::kCountNonzero:
    case Op::kAny:
    case Op::kAll:
      return Bundle::kNonzero;
    case Op::kVar:
    case Op::kStd:
    case Op::kL1Norm:
    case Op::kL2Norm:
    case Op::kNanCount:
    case Op::kInfCount:
      return Bundle::kStatistics;
    case Op::kArgMin:
    case Op::kArgMax:
      return Bundle::kArg;
    case Op::kProd:
      return Bundle::kAll;
  }
  __builtin_unreachable();
}

// kSum, kMin, kMax and kNonzero hold one component, kRange the first three of them, kStatistics
// those and more, kArg the two indexed ones, kAll everything, kOmitNan everything of floats without
// NaN.
inline Bundle BundleFor(DType dtype, const std::vector<Op>& ops, NanPolicy nan_policy) {
  if (IsFloat(dtype) && nan_policy == NanPolicy::kOmit) return Bundle::kOmitNan;
  Bundle bundle = BundleOf(ops.front());
  for (const Op op : ops) {
    const Bundle other = BundleOf(op);
    if (other == bundle) continue;
    const bool stands_alone = bundle == Bundle::kNonzero || other == Bundle::kNonzero ||
                              bundle == Bundle::kArg || other == Bundle::kArg;
    bundle = stands_alone ? Bundle::kAll : std::max({bundle, other, Bundle::kRange});
  }
  return bundle;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_BUNDLE_H_
