#include "server/core/shard_reduce.h"

#include <cstddef>
#include <cstdint>
#include <optional>
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
  return ShardResults{
      {}, false, std::move(outcome->results), outcome->times, std::move(outcome->charge)};
}

absl::StatusOr<ShardResults> ReduceRange(Lane& lane, const Plan& whole, const Shard& shard,
                                         bool to_partials) {
  const std::int64_t row_bytes = whole.input_bytes / whole.outer_run.length;
  const std::int64_t begin = shard.offset_bytes / row_bytes;
  const Range range{begin, begin + shard.size_bytes / row_bytes};
  Plan plan = SlicePlan(whole, 1, range);
  plan.leaves_partials = to_partials;
  absl::StatusOr<Outcome> outcome = lane.Reduce(plan, shard.data);
  if (to_partials && absl::IsResourceExhausted(outcome.status())) outcome = Outcome{};
  if (!outcome.ok()) return outcome.status();
  return ShardResults{range, to_partials, std::move(outcome->results), outcome->times,
                      std::move(outcome->charge)};
}

absl::StatusOr<std::optional<std::vector<std::string>>> JoinPartials(
    Lane& lane, const Plan& whole, absl::Span<ShardResults> shards) {
  std::vector<std::vector<std::string>> partials;
  for (ShardResults& shard : shards) {
    if (shard.values.empty()) return std::nullopt;
    partials.push_back(std::move(shard.values));
  }
  absl::StatusOr<std::optional<Outcome>> joined = lane.JoinPartials(whole, partials);
  if (absl::IsResourceExhausted(joined.status())) return std::nullopt;
  if (!joined.ok()) return joined.status();
  if (!joined->has_value()) return std::nullopt;
  return std::move((*joined)->results);
}

}  // namespace

absl::StatusOr<ShardResults> ReduceShard(Lane& lane, const Plan& plan, const Shard& shard,
                                         bool exactly) {
  if (PlaneCount(plan) > 1) return ReducePlanes(lane, plan, shard);
  return ReduceRange(lane, plan, shard, !exactly && lane.JoinsPartials(plan));
}

absl::StatusOr<std::optional<std::vector<std::string>>> JoinShards(
    Lane& lane, const Plan& whole, absl::Span<ShardResults> shards) {
  if (PlaneCount(whole) == 1) {
    if (shards.front().are_partials) return JoinPartials(lane, whole, shards);
    std::vector<PartValues> parts;
    for (const ShardResults& shard : shards) {
      parts.push_back({shard.range, {shard.values.begin(), shard.values.end()}});
    }
    return MergeToResults(whole, parts);
  }
  return OrNoHostMemory([&]() -> absl::StatusOr<std::optional<std::vector<std::string>>> {
    std::vector<std::string> results(whole.ops.size());
    for (const ShardResults& shard : shards) {
      for (std::size_t op = 0; op < results.size(); ++op) results[op] += shard.values[op];
    }
    return results;
  });
}

}  // namespace warpfold
