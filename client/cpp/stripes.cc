#include "client/cpp/stripes.h"

#include <algorithm>
#include <bit>

namespace warpfold::client {
namespace {

// So many stripes a connection that one which is slow, or has to try again, holds up the others
// little.
constexpr std::int64_t kStripesPerConnection = 4;
// A state has at most this much for each op, and a count of NaNs (PartialState).
constexpr std::int64_t kStateBytesPerOp = 32;
// States that are more than this part of the tensor cost more than connections gain.
constexpr std::int64_t kStatesPartMax = 16;

// What may be cut: consecutive indices of the tensor's outermost dimensions.
struct Cut {
  bool reduced = false;
  std::size_t first = 0;     // the dimension
  std::size_t end = 0;       // of the dimensions that are cut together
  std::int64_t indices = 1;  // of those
  std::int64_t index_bytes = 0;
  std::int64_t unit = 1;  // indices; cuts fall at its multiples
  std::int64_t kept = 1;  // elements of a result
};

// The indices between which a run may be cut (reduction.proto, Part).
std::int64_t UnitOf(const TensorView& tensor, const std::vector<bool>& reduced, std::size_t end) {
  bool kept_inside = false;
  for (std::size_t d = end; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 1) continue;
    if (reduced[d]) return 1;
    kept_inside = true;
  }
  if (kept_inside) return 8;
  return 4096 / static_cast<std::int64_t>(ElementBytes(tensor.dtype));
}

std::optional<Cut> CutOf(const TensorView& tensor, std::span<const std::int64_t> axes) {
  const std::vector<std::int64_t>& shape = tensor.shape;
  const std::optional<std::vector<bool>> reduced = ReducedDimensions(shape.size(), axes);
  const std::int64_t bytes = TensorBytes(tensor.dtype, shape).value_or(0);
  if (!reduced.has_value() || bytes == 0) return std::nullopt;
  Cut cut;
  while (cut.first < shape.size() && shape[cut.first] == 1) ++cut.first;
  if (cut.first == shape.size()) return std::nullopt;
  cut.reduced = (*reduced)[cut.first];
  cut.end = cut.first;
  do {
    cut.indices *= shape[cut.end++];
  } while (cut.reduced && cut.end < shape.size() && ((*reduced)[cut.end] || shape[cut.end] == 1));
  cut.index_bytes = bytes / cut.indices;
  if (cut.reduced) cut.unit = UnitOf(tensor, *reduced, cut.end);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!(*reduced)[d]) cut.kept *= shape[d];
  }
  return cut;
}

// Whether the states of stripes of `stripe` indices fit, and are small beside the tensor.
bool StatesFit(const Cut& cut, std::int64_t stripe, std::int64_t tensor_bytes, std::size_t ops,
               const StripeLimits& limits) {
  const std::int64_t node_bytes =
      cut.kept * kStateBytesPerOp * (static_cast<std::int64_t>(ops) + 1);
  // Every stripe is a node, the last one up to as many as it has bits.
  const auto last_nodes =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(stripe / cut.unit)));
  const std::int64_t all_bytes = node_bytes * (cut.indices / stripe + last_nodes);
  const auto fits = [](std::int64_t bytes, std::int64_t limit) {
    return limit <= 0 || bytes <= limit;
  };
  return fits(node_bytes * last_nodes, limits.result_bytes_max) &&
         fits(2 * all_bytes, limits.message_bytes_max) &&
         all_bytes <= tensor_bytes / kStatesPartMax;
}

// The indices of a stripe, but of the last one; 0 when there is no good number.
std::int64_t StripeIndices(const Cut& cut, std::int64_t tensor_bytes, std::size_t ops,
                           const StripeLimits& limits) {
  const std::int64_t unit_bytes = cut.unit * cut.index_bytes;
  const std::int64_t units =
      RangeBytes(tensor_bytes, limits.connections, limits.stripe_bytes_min, unit_bytes) /
      unit_bytes;
  if (!cut.reduced) return units;
  auto stripe =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(units))) * cut.unit;
  while (!StatesFit(cut, stripe, tensor_bytes, ops, limits)) {
    stripe *= 2;
    if (stripe * limits.connections > cut.indices) return 0;
  }
  return stripe;
}

}  // namespace

std::optional<std::vector<bool>> ReducedDimensions(std::size_t rank,
                                                   std::span<const std::int64_t> axes) {
  std::vector<bool> reduced(rank, axes.empty());
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    if (reduced[static_cast<std::size_t>(axis)]) return std::nullopt;
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  return reduced;
}

std::int64_t RangeBytes(std::int64_t bytes, int connections, std::int64_t bytes_min,
                        std::int64_t multiple) {
  const std::int64_t wanted = std::max(bytes_min, bytes / (kStripesPerConnection * connections));
  return std::max<std::int64_t>(1, wanted / multiple) * multiple;
}

std::optional<StripePlan> PlanStripes(const TensorView& tensor, std::span<const std::int64_t> axes,
                                      std::size_t ops, bool keepdims, const StripeLimits& limits) {
  const std::optional<Cut> cut = CutOf(tensor, axes);
  if (!cut.has_value()) return std::nullopt;
  const std::int64_t tensor_bytes = *TensorBytes(tensor.dtype, tensor.shape);
  const std::int64_t indices = StripeIndices(*cut, tensor_bytes, ops, limits);
  if (indices == 0 || indices >= cut->indices) return std::nullopt;
  StripePlan plan;
  plan.join = cut->reduced ? StripePlan::Join::kMerge : StripePlan::Join::kConcatenate;
  if (!cut->reduced) plan.index_results = cut->kept / cut->indices;
  // Leading dimensions of length 1 are in the result unless they are reduced away.
  for (std::size_t d = 0; d < cut->first; ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const auto rank = static_cast<std::int64_t>(tensor.shape.size());
    const bool gone = !keepdims && std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) {
      return a == axis || a + rank == axis;
    });
    if (!gone) ++plan.result_dimension;
  }
  for (std::int64_t offset = 0; offset < cut->indices; offset += indices) {
    const std::int64_t count = std::min(indices, cut->indices - offset);
    std::vector<std::int64_t> shape = tensor.shape;
    std::fill(shape.begin() + static_cast<std::ptrdiff_t>(cut->first),
              shape.begin() + static_cast<std::ptrdiff_t>(cut->end), 1);
    shape[cut->first] = count;
    plan.stripes.push_back({offset, std::move(shape),
                            static_cast<std::size_t>(offset * cut->index_bytes),
                            static_cast<std::size_t>(count * cut->index_bytes)});
  }
  return plan;
}

}  // namespace warpfold::client
