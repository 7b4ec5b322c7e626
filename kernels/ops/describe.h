// What `describe` asks for: the statistics of a tensor that a fusion computes in one read.
#ifndef WARPFOLD_KERNELS_OPS_DESCRIBE_H_
#define WARPFOLD_KERNELS_OPS_DESCRIBE_H_

#include "kernels/ops/list.h"

namespace warpfold {

// In the order in which they are shown. KServe's model `describe`, and by the generated catalogues
// (tools/catalogue) the command line and the Python client.
inline constexpr Op kDescribeOps[] = {Op::kSum,    Op::kMean,     Op::kStd,
                                      Op::kMin,    Op::kMax,      Op::kL1Norm,
                                      Op::kL2Norm, Op::kNanCount, Op::kInfCount};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_DESCRIBE_H_
