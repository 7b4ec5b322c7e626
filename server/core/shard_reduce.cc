#include "server/core/shard_reduce.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "server/device/merge.h"

namespace warpfold {
namespace {

absl::StatusOr<ShardResults> ReducePlanes(Lane& lane, const Plan& whole, const Shard& shard) {
  const std::int64_t plane_bytes = whole.input_bytes / PlaneCount(whole);
  Plan plan = SlicePlan(whole, shard.size_bytes / plane_bytes, {0, whole.outer_run.length});
  plan.leaves_states = false;
  plan.first_output = shard.offset_bytes / plane_bytes * (whole.output_count / PlaneCount(whole));
  absl::StatusOr<Outcome> outcome = lane.Reduce(plan, shard.data);
  if (!outcome.ok()) return outcome.status();
  return ShardResults{{}, std::move(outcome->results), outcome->times, std::move(outcome->charge)};
}

absl::StatusOr<ShardResults> ReduceRange(Lane& lane, const Plan& whole, const Shard& shard) {
  const std::int64_t row_bytes = whole.input_bytes / whole.outer_run.length;
  const std::int64_t begin = shard.offset_bytes / row_bytes;
  const Range range{begin, begin + shard.size_bytes / row_bytes};
  absl::StatusOr<Outcome> outcome = lane.Reduce(SlicePlan(whole, 1, range), shard.data);
  if (!outcome.ok()) return outcome.status();
  return ShardResults{range, std::move(outcome->results), outcome->times,
                      std::move(outcome->charge)};
}

}  // namespace

absl::StatusOr<ShardResults> ReduceShard(Lane& lane, const Plan& plan, const Shard& shard) {
  return PlaneCount(plan) > 1 ? ReducePlanes(lane, plan, shard) : ReduceRange(lane, plan, shard);
}

absl::StatusOr<std::vector<std::string>> JoinShards(const Plan& whole,
                                                    absl::Span<const ShardResults> shards) {
  if (PlaneCount(whole) == 1) {
    std::vector<PartValues> parts;
    for (const ShardResults& shard : shards) {
      parts.push_back({shard.range, {shard.values.begin(), shard.values.end()}});
    }
    return MergeToResults(whole, parts);
  }
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> results(whole.ops.size());
    for (const ShardResults& shard : shards) {
      for (std::size_t op = 0; op < results.size(); ++op) results[op] += shard.values[op];
    }
    return results;
  });
}

}  // namespace warpfold
