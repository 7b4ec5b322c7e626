// How much the tests of devices do. $WARPFOLD_BRIEF_TESTS asks for less: under compute-sanitizer
// (tests/gpu/sanitize.sh) every kernel takes a hundred times as long, and each has to be patched.
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

// Of `full` rounds all, or a tenth.
inline int Rounds(int full) { return IsBrief() ? std::max(1, full / 10) : full; }

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EFFORT_H_
