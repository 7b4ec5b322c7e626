// Ops for one request, which may have fewer than there are.
#ifndef WARPFOLD_TESTS_KERNELS_OP_LISTS_H_
#define WARPFOLD_TESTS_KERNELS_OP_LISTS_H_

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/ops/list.h"

namespace warpfold::testing {

inline std::vector<Op> AllOps() { return {kAllOps.begin(), kAllOps.end()}; }

// As many as a request may have: each op is among the first or among the last.
inline std::vector<Op> FirstOps() { return {kAllOps.begin(), kAllOps.begin() + kRequestOpsMax}; }
inline std::vector<Op> LastOps() { return {kAllOps.end() - kRequestOpsMax, kAllOps.end()}; }
static_assert(kRequestOpsMax <= kOpCount && kOpCount <= 2 * kRequestOpsMax);

// `count` of them, in any order.
inline std::vector<Op> AnyOps(int count, std::mt19937_64& random) {
  std::vector<Op> ops = AllOps();
  std::shuffle(ops.begin(), ops.end(), random);
  ops.resize(static_cast<std::size_t>(std::min(count, kRequestOpsMax)));
  return ops;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_OP_LISTS_H_
