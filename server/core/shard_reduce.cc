#include "server/core/shard_reduce.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "server/core/node_values.h"
#include "server/device/exact_merge.h"
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
      {}, {}, std::move(outcome->results), outcome->times, std::move(outcome->charge)};
}

Range RangeOf(const Plan& whole, const Shard& shard) {
  const std::int64_t row_bytes = whole.input_bytes / whole.outer_run.length;
  const std::int64_t begin = shard.offset_bytes / row_bytes;
  return {begin, begin + shard.size_bytes / row_bytes};
}

absl::StatusOr<ShardResults> ReduceExactly(Lane& lane, const Plan& whole, const Shard& shard) {
  const Range range = RangeOf(whole, shard);
  absl::StatusOr<Outcome> outcome = lane.Reduce(SlicePlan(whole, 1, range), shard.data);
  if (!outcome.ok()) return outcome.status();
  return ShardResults{
      range, {}, std::move(outcome->results), outcome->times, std::move(outcome->charge)};
}

absl::StatusOr<ShardResults> ReduceRange(Lane& lane, const Work& work, const Shard& shard) {
  const Plan& whole = work.plan();
  const std::int64_t row_bytes = whole.input_bytes / whole.outer_run.length;
  const Range range = RangeOf(whole, shard);
  absl::StatusOr<NodeValues> values = NodeValues::Make(whole, SubtreesOf(whole, range));
  if (!values.ok()) return values.status();
  ShardResults results{range, values->nodes(), {}, {}, {}};
  for (std::size_t n = 0; n < results.nodes.size(); ++n) {
    if (absl::Status why = work.token().CheckCancelled(); !why.ok()) return why;
    const Plan plan = SlicePlan(whole, 1, results.nodes[n]);
    absl::StatusOr<Outcome> node =
        lane.Reduce(plan, shard.data + (results.nodes[n].begin - range.begin) * row_bytes);
    if (!node.ok()) return node.status();
    results.times += node->times;
    values->Keep(plan, node->results.front(), n, 0);
  }
  results.values = values->Take();
  results.charge = values->TakeCharge();
  return results;
}

}  // namespace

absl::StatusOr<ShardResults> ReduceShard(Lane& lane, const Work& work, const Shard& shard) {
  if (PlaneCount(work.plan()) > 1) return ReducePlanes(lane, work.plan(), shard);
  if (kServesExactSums) return ReduceExactly(lane, work.plan(), shard);
  return ReduceRange(lane, work, shard);
}

absl::StatusOr<std::vector<std::string>> JoinShards(const Plan& whole,
                                                    absl::Span<const ShardResults> shards) {
  if (PlaneCount(whole) == 1) {
    std::vector<PartValues> parts;
    for (const ShardResults& shard : shards) {
      parts.push_back({shard.range, shard.nodes, {shard.values.begin(), shard.values.end()}});
    }
    return (kServesExactSums ? MergeExactlyToResults : MergeToResults)(whole, parts);
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
