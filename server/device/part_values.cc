#include "server/device/part_values.h"

#include <algorithm>

#include "kernels/cpu/exact_pack.h"
#include "server/device/host_bytes.h"
#include "server/device/results.h"

namespace warpfold {

std::size_t ExactStateBytes(const Plan& plan) { return cpu::StateBytes(ExactJobOf(plan)); }

absl::StatusOr<std::vector<std::string>> PartValuesOf(const Plan& part, StatesOf states_of) {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    const std::vector<ValueKind> kinds = ExactKindsOf(part);
    std::vector<std::string> values(kinds.size());
    if (part.element_count == 0) return values;
    for (std::int64_t first = 0; first < part.output_count; first += kOutputsAtOnce) {
      const std::int64_t count = std::min(kOutputsAtOnce, part.output_count - first);
      cpu::PackExactly(ExactJobOf(part), kinds, states_of(first, count), count,
                       part.geometry.reduced_runs, part.first_reduced_index, values);
    }
    return values;
  });
}

std::size_t OutcomeBytesMax(const Plan& plan, Numerics numerics) {
  if (!LeavesValues(plan, numerics)) return ResultLayout(plan).total_bytes();
  return ResultLayout(plan, {ExactStateBytes(plan)}).total_bytes();
}

absl::StatusOr<std::vector<std::string>> OutcomeOfNothing(const Plan& plan, Numerics numerics) {
  if (!LeavesValues(plan, numerics)) return EmptyResults(plan);
  return PartValuesOf(plan, [](std::int64_t, std::int64_t) { return nullptr; });
}

}  // namespace warpfold
