#include "server/core/tensors/shard_layout.h"

#include <algorithm>

#include "kernels/tiles.h"

namespace warpfold {
namespace {

bool AreBalanced(std::int64_t rows, std::int64_t shards) {
  const std::int64_t missing = CeilDiv(rows, shards) * shards - rows;  // were all as the largest
  return shards <= rows && missing <= rows / 5;
}

}  // namespace

std::optional<std::size_t> ShardedDimension(const std::vector<std::int64_t>& lengths) {
  const auto longer =
      std::find_if(lengths.begin(), lengths.end(), [](std::int64_t length) { return length != 1; });
  if (longer == lengths.end()) return std::nullopt;
  return static_cast<std::size_t>(longer - lengths.begin());
}

std::vector<std::int64_t> ShardEnds(const TensorShape& shape, std::size_t count) {
  const std::optional<std::size_t> dimension = ShardedDimension(shape.lengths);
  if (!dimension.has_value() || shape.size_bytes == 0) return {shape.size_bytes};
  const std::int64_t rows = shape.lengths[*dimension];
  auto shards = static_cast<std::int64_t>(count);
  while (!AreBalanced(rows, shards)) --shards;
  std::vector<std::int64_t> ends;
  for (std::int64_t shard = 1; shard <= shards; ++shard) {
    // rows * shard / shards, which may not fit.
    const std::int64_t end = rows / shards * shard + rows % shards * shard / shards;
    ends.push_back(end * (shape.size_bytes / rows));
  }
  return ends;
}

}  // namespace warpfold
