#include "server/core/shard_layout.h"

#include <algorithm>
#include <bit>

#include "kernels/tiles.h"

namespace warpfold {
namespace {

// Cuts may be half of this part of a shard away from where they would balance best: a price of up
// to 3 % of a reduction's time. What it buys is a tree of 6 nodes at most between a cut and the
// shard's largest node, or as many more as the odd part of a row has bits; a node takes a GPU some
// 30 us beside its elements.
constexpr std::int64_t kStepsPerShard = 32;

// Of `rows` rows the ends of `count` shards that are multiples of a power of two, at least `unit`.
std::vector<std::int64_t> RowEnds(std::int64_t rows, std::int64_t unit, std::int64_t count) {
  const auto fine = static_cast<std::uint64_t>(rows / count / kStepsPerShard);
  const std::int64_t step = std::max(unit, static_cast<std::int64_t>(std::bit_floor(fine)));
  std::vector<std::int64_t> ends;
  for (std::int64_t shard = 1; shard < count; ++shard) {
    // rows * shard / count, which may not fit.
    const std::int64_t ideal = rows / count * shard + rows % count * shard / count;
    ends.push_back((ideal + step / 2) / step * step);
  }
  ends.push_back(rows);
  return ends;
}

bool AreBalanced(const std::vector<std::int64_t>& ends) {
  const auto count = static_cast<std::int64_t>(ends.size());
  const std::int64_t most = ends.back() / count + ends.back() / count / 5;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (end <= begin || end - begin > most) return false;
    begin = end;
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> ShardEnds(const TensorShape& shape, std::size_t count) {
  const auto first = std::find_if(shape.lengths.begin(), shape.lengths.end(),
                                  [](std::int64_t length) { return length != 1; });
  if (first == shape.lengths.end() || shape.size_bytes == 0) return {shape.size_bytes};
  const std::int64_t rows = *first;
  const std::int64_t row_bytes = shape.size_bytes / rows;
  // The lowest set bits: both tile and leaf are powers of two.
  const std::int64_t tile = static_cast<std::int64_t>(kTileBytes);
  const std::int64_t unit =
      std::max<std::int64_t>(kLeafRows, tile / std::min(tile, row_bytes & -row_bytes));
  for (std::size_t shards = count; shards > 1; --shards) {
    std::vector<std::int64_t> ends = RowEnds(rows, unit, static_cast<std::int64_t>(shards));
    if (!AreBalanced(ends)) continue;
    for (std::int64_t& end : ends) end *= row_bytes;
    return ends;
  }
  return {shape.size_bytes};
}

}  // namespace warpfold
