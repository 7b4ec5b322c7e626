// Reductions that are drawn: any shape, axes, ops and policy.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_RANDOM_SPEC_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_RANDOM_SPEC_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/plan.h"
#include "kernels/types.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/op_lists.h"

namespace warpfold::testing {

inline std::string ToString(const ReduceSpec& spec) {
  std::vector<std::string> ops;
  for (const Op op : spec.ops) ops.emplace_back(Name(op));
  return absl::StrCat(Name(spec.dtype), "[", absl::StrJoin(spec.shape, ", "), "], axes {",
                      absl::StrJoin(spec.axes, ", "), "}, ", absl::StrJoin(ops, " "),
                      spec.nan_policy == NanPolicy::kOmit ? ", omits NaN" : "", ", correction ",
                      spec.correction);
}

// Of at most `elements` elements and one at least. Reduced are any axes, or all.
inline ReduceSpec RandomSpec(DType dtype, std::int64_t elements, std::mt19937_64& random) {
  Draw draw(random);
  ReduceSpec spec{.dtype = dtype};
  const long rank = draw.Between(1, 6);
  std::int64_t left = elements;
  for (long d = 0; d < rank; ++d) {
    // Any size that is left, by its order of magnitude.
    std::int64_t most = left;
    while (most > 1 && draw.OneIn(2)) most /= 4;
    const std::int64_t length = draw.Between(1, std::max<std::int64_t>(most, 1));
    spec.shape.push_back(length);
    left /= length;
  }
  std::shuffle(spec.shape.begin(), spec.shape.end(), random);
  for (long d = 0; d < rank; ++d) {
    if (draw.OneIn(2)) spec.axes.push_back(d);
  }
  const bool takes_many = draw.OneIn(3);
  spec.ops = AnyOps(takes_many ? kRequestOpsMax : static_cast<int>(draw.Between(1, 3)), random);
  if (draw.OneIn(3)) spec.nan_policy = NanPolicy::kOmit;
  spec.correction =
      draw.AnyOf<double>({0, 0, 1, 1, 2, 7, -3, 0.5, 1.5, -0.1, 2.999, 0x1p40, -1e300});
  return spec;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_RANDOM_SPEC_H_
