// How much the tests of kernels and devices do. $WARPFOLD_BRIEF_TESTS asks for less: under
// compute-sanitizer (deploy/gpu-sanitize.sh) every kernel takes a hundred times as long, and each
// has to be patched. $WARPFOLD_LONG_TESTS=N asks for N times as many random cases
// (.ci/nightly).
#ifndef WARPFOLD_TESTS_KERNELS_EFFORT_H_
#define WARPFOLD_TESTS_KERNELS_EFFORT_H_

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/types.h"

namespace warpfold::testing {

inline bool IsBrief() { return std::getenv("WARPFOLD_BRIEF_TESTS") != nullptr; }

// All; or one of each size of element, and of each kind of number.
inline std::vector<DType> DTypesToTest() {
  if (IsBrief()) return {DType::kI8, DType::kF16, DType::kF32, DType::kI64};
  return {std::begin(kAllDTypes), std::end(kAllDTypes)};
}

// Of `full` rounds a tenth, all, or so many times as many.
inline int Rounds(int full) {
  if (IsBrief()) return std::max(1, full / 10);
  const char* times = std::getenv("WARPFOLD_LONG_TESTS");
  return times == nullptr ? full : full * std::max(1, std::atoi(times));
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EFFORT_H_
