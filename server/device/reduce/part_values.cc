#include "server/device/reduce/part_values.h"

#include <algorithm>

#include "kernels/cpu/exact_pack.h"
#include "kernels/part.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/results.h"

namespace warpfold {

absl::StatusOr<std::vector<std::string>> PartValuesOf(const Plan& part, StatesOf states_of) {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    const std::vector<ValueKind> kinds = ValueKindsOf(part);
    std::vector<std::string> values(kinds.size());
    if (part.element_count == 0) return values;
    for (std::int64_t first = 0; first < part.output_count; first += kOutputsAtOnce) {
      const std::int64_t count = std::min(kOutputsAtOnce, part.output_count - first);
      cpu::PackExactly(CpuJobOf(part), kinds, states_of(first, count), count, part.index_map,
                       values);
    }
    return values;
  });
}

std::size_t OutcomeBytesMax(const Plan& plan) {
  if (!plan.leaves_states) return ResultLayout(plan).total_bytes();
  return ResultLayout(plan, {cpu::EngineFor(CpuJobOf(plan)).StateBytes()}).total_bytes();
}

absl::StatusOr<std::vector<std::string>> EmptyOutcome(const Plan& plan) {
  if (!plan.leaves_states) return EmptyResults(plan);
  return PartValuesOf(plan, [](std::int64_t, std::int64_t) { return nullptr; });
}

}  // namespace warpfold
