#include "server/core/shard_layout.h"

#include <algorithm>

#include "kernels/tiles.h"

namespace warpfold {
namespace {

bool AreBalanced(std::int64_t rows, std::int64_t shards) {
  const std::int64_t missing = CeilDiv(rows, shards) * shards - rows;  // were all as the largest
  return shards <= rows && missing <= rows / 5;
}

}  // namespace

std::vector<std::int64_t> ShardEnds(const TensorShape& shape, std::size_t count) {
  const auto first = std::find_if(shape.lengths.begin(), shape.lengths.end(),
                                  [](std::int64_t length) { return length != 1; });
  if (first == shape.lengths.end() || shape.size_bytes == 0) return {shape.size_bytes};
  const std::int64_t rows = *first;
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
