#include "server/device/reduce/merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/cpu/exact_pack.h"
#include "kernels/cpu/reduce.h"
#include "kernels/targets.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/part_values.h"
#include "server/device/reduce/results.h"

namespace warpfold {
namespace {

class Joiner {
 public:
  Joiner(const Plan& whole, const std::vector<PartValues>& parts)
      : whole_(whole), job_(CpuJobOf(whole)), kinds_(ValueKindsOf(whole)) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Part& part = parts_.emplace_back(Part{p, ReducedElementsOf(whole, parts[p].box), {}});
      for (const std::string_view values : parts[p].values) {
        part.values.emplace_back(values.data(), values.size());
      }
    }
  }

  // Calls use(first, count, states) with the joined states of outputs [first, first + count), for
  // all of them in order; never where no part has elements. Once.
  using Use = absl::FunctionRef<void(std::int64_t first, std::int64_t count, const void* states)>;
  absl::Status Run(Use use) {
    return OrNoHostMemory([&]() -> absl::Status {
      const auto at_once = static_cast<std::size_t>(std::min(kOutputsAtOnce, whole_.output_count));
      std::vector<std::byte> joined(at_once * cpu::EngineFor(job_).StateBytes());
      std::vector<std::byte> next(joined.size());
      const bool has_elements = std::any_of(
          parts_.begin(), parts_.end(), [](const Part& part) { return part.elements.count > 0; });
      const std::int64_t outputs = has_elements ? whole_.output_count : 0;
      for (std::int64_t first = 0; first < outputs; first += kOutputsAtOnce) {
        const std::int64_t count = std::min(kOutputsAtOnce, outputs - first);
        cpu::EngineFor(job_).ClearStates(joined.data(), count);
        for (Part& part : parts_) {
          if (part.elements.count == 0) continue;
          if (absl::Status status = Take(part, count, next.data()); !status.ok()) return status;
          cpu::EngineFor(job_).AddStates(next.data(), count, joined.data());
        }
        use(first, count, joined.data());
      }
      return CheckEnds();
    });
  }

 private:
  struct Part {
    std::size_t number;
    ReducedElements elements;
    std::vector<absl::string_view> values;  // that are left
  };

  absl::Status Refusal(const Part& part, std::size_t kind, absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat("states[", part.number, "].components[", kind, "].values: ", why));
  }

  absl::Status Take(Part& part, std::int64_t count, void* states) const {
    const std::optional<ValueKind> bad =
        cpu::UnpackExactly(job_, kinds_, part.values, count, part.elements, states);
    if (!bad.has_value()) return absl::OkStatus();
    const auto kind = std::find(kinds_.begin(), kinds_.end(), *bad) - kinds_.begin();
    return Refusal(part, static_cast<std::size_t>(kind),
                   "one of them is not what elements come to");
  }

  absl::Status CheckEnds() const {
    for (const Part& part : parts_) {
      for (std::size_t kind = 0; kind < part.values.size(); ++kind) {
        if (!part.values[kind].empty()) {
          return Refusal(part, kind, "more of them than there are outputs");
        }
      }
    }
    return absl::OkStatus();
  }

  const Plan& whole_;
  const cpu::Job job_;
  const std::vector<ValueKind> kinds_;
  std::vector<Part> parts_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> MergeToResults(const Plan& whole,
                                                        const std::vector<PartValues>& parts) {
  if (whole.element_count == 0) return EmptyResults(whole);
  const ResultLayout layout(whole);
  const absl::StatusOr<HostBytes> block = HostBytes::Take(layout.total_bytes());
  if (!block.ok()) return block.status();
  Overflow overflow;
  Output output = layout.OutputAt(whole, block->get(), &overflow);
  output.targets.reduced_run_count = 1;
  output.targets.reduced_runs[0] = {1, whole.reduced_count};  // packed indices are in it already
  const absl::Status joined =
      Joiner(whole, parts).Run([&](std::int64_t first, std::int64_t count, const void* states) {
        output.first_result = first;
        cpu::EngineFor(CpuJobOf(whole)).FoldStates(states, {1, 1, count}, output, cpu::Serial);
      });
  if (!joined.ok()) return joined;
  if (absl::Status fits = OverflowStatus(overflow, whole); !fits.ok()) return fits;
  return layout.Extract(reinterpret_cast<const char*>(block->get()));
}

absl::StatusOr<std::vector<std::string>> MergeToValues(const Plan& whole,
                                                       const std::vector<PartValues>& parts) {
  std::vector<std::string> values(ValueKindsOf(whole).size());
  const ReducedIndexMap index_map{{{1, whole.reduced_count, 1}}, 0};
  const absl::Status joined =
      Joiner(whole, parts).Run([&](std::int64_t, std::int64_t count, const void* states) {
        cpu::PackExactly(CpuJobOf(whole), ValueKindsOf(whole), states, count, index_map, values);
      });
  if (!joined.ok()) return joined;
  return values;
}

}  // namespace warpfold
