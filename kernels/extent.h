// What a fold walks over, on every backend.
#ifndef WARPFOLD_KERNELS_EXTENT_H_
#define WARPFOLD_KERNELS_EXTENT_H_

#include <cstdint>

namespace warpfold {

// A tensor, or an array of states, in C order as [outer, count, inner], folded along `count`.
struct Extent {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
  std::int64_t first = 0;  // of elements: the linear offset in the tensor of the first one

  std::int64_t outputs() const { return outer * inner; }
};

// A run of reduced dimensions: an element at linear offset i is number i / stride % length in it.
struct ReducedRun {
  std::int64_t stride = 1;
  std::int64_t length = 1;
};
inline constexpr int kMaxReducedRuns = 16;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_EXTENT_H_
