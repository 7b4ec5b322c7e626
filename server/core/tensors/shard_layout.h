// Where a resident tensor is cut when it is laid out over several devices.
//
// Step of a request: 2, decide. A pure function; safe from any thread.
//
// Nobody knows yet over which axes the tensor will be reduced, so a cut falls where all of them
// allow it: between two indices of the first dimension that is longer than 1. Then a shard is, of
// every reduction, whole outputs or a part as kernels/part.h has them.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_SHARD_LAYOUT_H_
#define WARPFOLD_SERVER_CORE_TENSORS_SHARD_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/tensors/tensor_lease.h"

namespace warpfold {

// The dimension between whose indices a tensor is cut; none of one element.
std::optional<std::size_t> ShardedDimension(const std::vector<std::int64_t>& lengths);

// The bytes at which the shards end, ascending, the tensor's own end last: `count` of them that
// are as equal as can be, or fewer where there are so few indices that the largest of more shards
// would be over a fifth larger than the mean. REQUIRES: count > 0.
std::vector<std::int64_t> ShardEnds(const TensorShape& shape, std::size_t count);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_SHARD_LAYOUT_H_
