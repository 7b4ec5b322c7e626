// The reductions that the tests of plans ask for: of float32, and nothing special.
#ifndef WARPFOLD_TESTS_KERNELS_SPEC_H_
#define WARPFOLD_TESTS_KERNELS_SPEC_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/plan.h"
#include "kernels/types.h"

namespace warpfold {

inline ReduceSpec Spec(std::vector<std::int64_t> shape, std::vector<std::int64_t> axes = {},
                       std::vector<Op> ops = {Op::kSum}) {
  return {.dtype = DType::kF32,
          .shape = std::move(shape),
          .ops = std::move(ops),
          .axes = std::move(axes)};
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_KERNELS_SPEC_H_
