#include "server/device/reduce/results.h"

#include <cstddef>

#include "kernels/cpu/reduce.h"
#include "kernels/targets.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/part_values.h"

namespace warpfold {
namespace {

std::string Repeat(const std::string& bytes, std::int64_t count) {
  std::string repeated;
  repeated.reserve(bytes.size() * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) repeated += bytes;
  return repeated;
}

}  // namespace

ResultLayout::ResultLayout(const Plan& plan) : ResultLayout(plan, {}) {}

ResultLayout::ResultLayout(const Plan& plan, const std::vector<std::size_t>& state_bytes) {
  const std::size_t outputs = static_cast<std::size_t>(plan.output_count);
  if (plan.leaves_states) {
    for (const std::size_t bytes : state_bytes) Add(outputs * bytes);
    return;
  }
  for (const Op op : plan.ops) Add(outputs * ElementBytes(ResultDType(op, plan.dtype)));
}

void ResultLayout::Add(std::size_t bytes) {
  constexpr std::size_t kAlignment = 16;
  offsets_.push_back(total_bytes_);
  bytes_.push_back(bytes);
  total_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Output ResultLayout::OutputAt(const Plan& plan, void* base, Overflow* overflow) const {
  Output output;
  output.overflow = overflow;
  if (plan.leaves_states) {
    output.states = base;
  } else {
    output.targets = Targets(plan, base);
  }
  return output;
}

std::vector<void*> ResultLayout::ArraysAt(void* base) const {
  std::vector<void*> arrays;
  for (const std::size_t offset : offsets_) arrays.push_back(static_cast<char*>(base) + offset);
  return arrays;
}

ResultTargets ResultLayout::Targets(const Plan& plan, void* base) const {
  return TargetsOf(plan, ArraysAt(base));
}

absl::StatusOr<std::vector<std::string>> ResultLayout::Extract(const char* base) const {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> results;
    results.reserve(offsets_.size());
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      results.emplace_back(base + offsets_[i], bytes_[i]);
    return results;
  });
}

absl::StatusOr<std::vector<std::string>> EmptyResults(const Plan& plan) {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> results(plan.ops.size());
    if (plan.output_count == 0) return results;
    // That of one output, which has a state like any other.
    Plan one = plan;
    one.output_count = 1;
    const cpu::Job job = CpuJobOf(one);
    const ResultLayout layout(one);
    const absl::StatusOr<HostBytes> state = HostBytes::Take(cpu::EngineFor(job).StateBytes());
    if (!state.ok()) return state.status();
    const absl::StatusOr<HostBytes> block = HostBytes::Take(layout.total_bytes());
    if (!block.ok()) return block.status();
    Overflow overflow;
    cpu::EngineFor(job).ClearStates(state->get(), 1);
    cpu::EngineFor(job).FoldStates(state->get(), {1, 1, 1},
                                   layout.OutputAt(one, block->get(), &overflow), cpu::Serial);
    absl::StatusOr<std::vector<std::string>> of_one =
        layout.Extract(reinterpret_cast<const char*>(block->get()));
    if (!of_one.ok()) return of_one.status();
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = Repeat((*of_one)[i], plan.output_count);
    }
    return results;
  });
}

}  // namespace warpfold
