// Where the elements of a part are among the whole's reduced axes: what makes an index of ARGMIN or
// ARGMAX in a part one in the whole.
#ifndef WARPFOLD_KERNELS_REDUCED_INDEX_MAP_H_
#define WARPFOLD_KERNELS_REDUCED_INDEX_MAP_H_

#include <cstdint>
#include <vector>

namespace warpfold {

struct ReducedIndexMap {
  // A reduced dimension: the element at linear offset i of the part is number i / stride % length
  // in it, and the next one's index in the whole is index_stride more.
  struct Dimension {
    std::int64_t stride = 1;
    std::int64_t length = 1;
    std::int64_t index_stride = 1;
  };
  std::vector<Dimension> dimensions;
  std::int64_t first_index = 0;  // of the part's first element

  std::int64_t IndexOf(std::int64_t offset) const {
    std::int64_t index = first_index;
    for (const Dimension& d : dimensions) index += offset / d.stride % d.length * d.index_stride;
    return index;
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_REDUCED_INDEX_MAP_H_
