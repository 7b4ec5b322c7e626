#include "client/cpp/stripes.h"

#include <algorithm>

#include "client/cpp/catalogue.h"

namespace warpfold::client {
namespace {

// So many stripes a connection that one which is slow, or has to try again, holds up the others
// little.
constexpr std::int64_t kStripesPerConnection = 4;
// What a state has for an op and an output, of elements of some 30 binary orders; less of integers.
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
  std::int64_t kept = 1;  // elements of a result
};

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
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!(*reduced)[d]) cut.kept *= shape[d];
  }
  return cut;
}

// Whether the states of stripes of `stripe` indices fit, and are small beside the tensor.
bool StatesFit(const Cut& cut, std::int64_t stripe, const TensorView& tensor,
               std::span<const Op> ops, const StripeLimits& limits) {
  std::int64_t most = 8;  // a count of NaNs
  for (const Op op : ops) most += StateBytesMax(op, tensor.dtype);
  const std::int64_t stripes = (cut.indices + stripe - 1) / stripe;
  const auto fits = [&](std::int64_t states, std::int64_t limit) {
    return limit <= 0 || cut.kept <= limit / states / most;
  };
  const std::int64_t tensor_bytes = cut.indices * cut.index_bytes;
  const std::int64_t usual = kStateBytesPerOp * static_cast<std::int64_t>(ops.size() + 1);
  return fits(1, limits.result_bytes_max) && fits(2 * stripes, limits.message_bytes_max) &&
         cut.kept <= tensor_bytes / kStatesPartMax / stripes / usual;
}

// The indices of a stripe, but of the last one; 0 when there is no good number.
std::int64_t StripeIndices(const Cut& cut, const TensorView& tensor, std::span<const Op> ops,
                           const StripeLimits& limits) {
  std::int64_t stripe = RangeBytes(cut.indices * cut.index_bytes, limits.connections,
                                   limits.stripe_bytes_min, cut.index_bytes) /
                        cut.index_bytes;
  if (!cut.reduced) return stripe;
  while (!StatesFit(cut, stripe, tensor, ops, limits)) {
    if (stripe > cut.indices / 2 / limits.connections) return 0;
    stripe *= 2;
  }
  return stripe;
}

}  // namespace

PartOfWhole PartOf(const StripePlan& plan, const Stripe& stripe) {
  PartOfWhole part{plan.whole_shape, std::vector<std::int64_t>(plan.whole_shape.size())};
  part.offset[plan.dimension] = stripe.offset;
  return part;
}

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

std::int64_t StateBytesMax(Op op, DType dtype) {
  constexpr std::int64_t kOther = 16;  // of what only a newer server knows
  const DTypeRow* row = RowOf(dtype);
  const OpRow* op_row = RowOf(op);
  return row == nullptr || op_row == nullptr ? kOther : op_row->state_bytes_max[row - kDTypeRows];
}

std::optional<StripePlan> PlanStripes(const TensorView& tensor, std::span<const std::int64_t> axes,
                                      std::span<const Op> ops, bool keepdims,
                                      const StripeLimits& limits) {
  const std::optional<Cut> cut = CutOf(tensor, axes);
  if (!cut.has_value()) return std::nullopt;
  const std::int64_t indices = StripeIndices(*cut, tensor, ops, limits);
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
  plan.dimension = cut->first;
  plan.whole_shape = tensor.shape;
  std::fill(plan.whole_shape.begin() + static_cast<std::ptrdiff_t>(cut->first),
            plan.whole_shape.begin() + static_cast<std::ptrdiff_t>(cut->end), 1);
  plan.whole_shape[cut->first] = cut->indices;
  for (std::int64_t offset = 0; offset < cut->indices; offset += indices) {
    const std::int64_t count = std::min(indices, cut->indices - offset);
    std::vector<std::int64_t> shape = plan.whole_shape;
    shape[cut->first] = count;
    plan.stripes.push_back({offset, std::move(shape),
                            static_cast<std::size_t>(offset * cut->index_bytes),
                            static_cast<std::size_t>(count * cut->index_bytes)});
  }
  return plan;
}

}  // namespace warpfold::client
