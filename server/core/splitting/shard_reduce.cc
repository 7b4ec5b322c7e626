#include "server/core/splitting/shard_reduce.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "server/core/tensors/shard_layout.h"
#include "server/device/reduce/merge.h"

namespace warpfold {
namespace {

bool HasWholeOutputs(const Plan& whole) {
  const std::optional<std::size_t> cut = ShardedDimension(whole.shape);
  return cut.has_value() && !whole.reduced.test(*cut);
}

Box BoxOfShard(const Plan& whole, const Shard& shard) {
  Box box = BoxOf(whole);
  if (const std::optional<std::size_t> cut = ShardedDimension(whole.shape)) {
    const std::int64_t index_bytes = whole.input_bytes / whole.shape[*cut];
    box.offset[*cut] = shard.offset_bytes / index_bytes;
    box.shape[*cut] = shard.size_bytes / index_bytes;
  }
  return box;
}

absl::StatusOr<ShardResults> ReduceOutputs(Worker& worker, const Plan& whole, const Shard& shard) {
  Box box = BoxOfShard(whole, shard);
  Plan plan = CutPlan(whole, box);
  plan.first_output = plan.first_element / whole.reduced_count;
  absl::StatusOr<Outcome> outcome = worker.Reduce(plan, shard.data);
  if (!outcome.ok()) return outcome.status();
  return ShardResults{std::move(box), false, std::move(outcome->results), outcome->times,
                      std::move(outcome->charge)};
}

absl::StatusOr<ShardResults> ReducePart(Worker& worker, const Plan& whole, const Shard& shard,
                                        bool to_partials) {
  Box box = BoxOfShard(whole, shard);
  Plan plan = CutPlan(whole, box);
  plan.leaves_states = true;
  plan.leaves_partials = to_partials;
  absl::StatusOr<Outcome> outcome = worker.Reduce(plan, shard.data);
  if (to_partials && absl::IsResourceExhausted(outcome.status())) outcome = Outcome{};
  if (!outcome.ok()) return outcome.status();
  return ShardResults{std::move(box), to_partials, std::move(outcome->results), outcome->times,
                      std::move(outcome->charge)};
}

absl::StatusOr<std::optional<std::vector<std::string>>> JoinPartials(
    Worker& worker, const Plan& whole, absl::Span<ShardResults> shards) {
  std::vector<std::vector<std::string>> partials;
  for (ShardResults& shard : shards) {
    if (shard.values.empty()) return std::nullopt;
    partials.push_back(std::move(shard.values));
  }
  absl::StatusOr<std::optional<Outcome>> joined = worker.JoinPartials(whole, partials);
  if (absl::IsResourceExhausted(joined.status())) return std::nullopt;
  if (!joined.ok()) return joined.status();
  if (!joined->has_value()) return std::nullopt;
  return std::move((*joined)->results);
}

}  // namespace

absl::StatusOr<ShardResults> ReduceShard(Worker& worker, const Plan& plan, const Shard& shard,
                                         bool exactly) {
  if (HasWholeOutputs(plan)) return ReduceOutputs(worker, plan, shard);
  return ReducePart(worker, plan, shard, !exactly && worker.JoinsPartials(plan));
}

absl::StatusOr<std::optional<std::vector<std::string>>> JoinShards(
    Worker& worker, const Plan& whole, absl::Span<ShardResults> shards) {
  if (!HasWholeOutputs(whole)) {
    if (shards.front().are_partials) return JoinPartials(worker, whole, shards);
    std::vector<PartValues> parts;
    for (const ShardResults& shard : shards) {
      parts.push_back({shard.box, {shard.values.begin(), shard.values.end()}});
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
