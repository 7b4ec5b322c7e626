#include "server/device/merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/reduce.h"
#include "server/device/host_bytes.h"
#include "server/device/results.h"

namespace warpfold {
namespace {

// Outputs that are merged at a time: a state may be many times its packed values, so not all are in
// memory at once.
constexpr std::int64_t kOutputsAtATime = 1024;

// The nodes of some outputs, from left to right, on their way to one.
class NodeStack {
 public:
  NodeStack(const Plan& whole, std::int64_t outputs)
      : whole_(whole),
        job_{whole.dtype, whole.bundle()},
        outputs_(outputs),
        level_bytes_(static_cast<std::size_t>(outputs) * StateBytes(job_.dtype, job_.bundle)) {}

  // Where the next node's states go.
  void* Next() {
    memory_.resize((nodes_.size() + 1) * level_bytes_);
    return At(nodes_.size());
  }
  // Those are there: halves join.
  void Push(const Range& node) {
    nodes_.push_back(node);
    while (nodes_.size() > 1 && AreHalves(whole_, nodes_[nodes_.size() - 2], nodes_.back())) Join();
  }
  // To one node, from the right: what has no partner goes up alone.
  void JoinAll() {
    while (nodes_.size() > 1) Join();
  }

  const std::vector<Range>& nodes() const { return nodes_; }
  void* At(std::size_t node) { return memory_.data() + node * level_bytes_; }

 private:
  void Join() {
    const Range right = nodes_.back();
    nodes_.pop_back();
    nodes_.back().end = right.end;
    Output joined;
    joined.states = At(nodes_.size() - 1);
    cpu::FoldStates(job_, joined.states, {1, 2, outputs_}, joined, cpu::Serial);
  }

  const Plan& whole_;
  const cpu::Job job_;
  const std::int64_t outputs_;
  const std::size_t level_bytes_;
  std::vector<std::byte> memory_;
  std::vector<Range> nodes_;
};

class Merger {
 public:
  Merger(const Plan& whole, const std::vector<PartValues>& parts)
      : whole_(whole), parts_(parts), kinds_(ValueKindsOf(whole)) {}

  // Calls done(first, count, stack) with the nodes of outputs [first, first + count), for all.
  template <typename Done>
  absl::Status Run(const Done& done) {
    return OrNoHostMemory([&]() -> absl::Status {
      for (std::int64_t first = 0; first < whole_.output_count; first += kOutputsAtATime) {
        const std::int64_t count = std::min(kOutputsAtATime, whole_.output_count - first);
        NodeStack stack(whole_, count);
        for (std::size_t p = 0; p < parts_.size(); ++p) {
          if (absl::Status status = PushPart(p, first, count, stack); !status.ok()) return status;
        }
        done(first, count, stack);
      }
      return absl::OkStatus();
    });
  }

 private:
  absl::Status PushPart(std::size_t p, std::int64_t first, std::int64_t count, NodeStack& stack) {
    const PartValues& part = parts_[p];
    for (std::size_t n = 0; n < part.nodes.size(); ++n) {
      const std::size_t at =
          n * static_cast<std::size_t>(whole_.output_count) + static_cast<std::size_t>(first);
      std::vector<const char*> values;
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        values.push_back(part.values[k].data() + at * ValueBytes(kinds_[k], whole_.dtype));
      }
      const std::optional<ValueKind> bad =
          cpu::Unpack({whole_.dtype, whole_.bundle()}, kinds_, values, count,
                      ReducedElementsOf(whole_, part.nodes[n]), stack.Next());
      if (bad.has_value()) {
        const auto kind = std::find(kinds_.begin(), kinds_.end(), *bad) - kinds_.begin();
        return absl::InvalidArgumentError(
            absl::StrCat("states[", p, "].components[", kind,
                         "].values: one of them is not what elements come to"));
      }
      stack.Push(part.nodes[n]);
    }
    return absl::OkStatus();
  }

  const Plan& whole_;
  const std::vector<PartValues>& parts_;
  const std::vector<ValueKind> kinds_;
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
  // Packed indices count within the reduced axes already.
  output.targets.reduced_run_count = 1;
  output.targets.reduced_runs[0] = {1, whole.reduced_count};
  const absl::Status merged =
      Merger(whole, parts).Run([&](std::int64_t first, std::int64_t count, NodeStack& stack) {
        stack.JoinAll();
        output.first_result = first;
        cpu::FoldStates({whole.dtype, whole.bundle()}, stack.At(0), {1, 1, count}, output,
                        cpu::Serial);
      });
  if (!merged.ok()) return merged;
  if (absl::Status fits = OverflowStatus(overflow, whole); !fits.ok()) return fits;
  return layout.Extract(reinterpret_cast<const char*>(block->get()));
}

absl::StatusOr<std::vector<std::string>> MergeToValues(const Plan& whole,
                                                       const std::vector<PartValues>& parts) {
  const std::vector<ValueKind> kinds = ValueKindsOf(whole);
  const Range range{parts.front().range.begin, parts.back().range.end};
  const std::size_t outputs = static_cast<std::size_t>(whole.output_count);
  const std::size_t values = NodesOf(whole, range).size() * outputs;
  std::vector<std::string> packed;
  const absl::Status taken = OrNoHostMemory([&] {
    for (const ValueKind kind : kinds) {
      packed.emplace_back(values * ValueBytes(kind, whole.dtype), '\0');
    }
    return absl::OkStatus();
  });
  if (!taken.ok()) return taken;
  const std::vector<ReducedRun> packed_indices = {{1, whole.reduced_count}};
  const absl::Status merged =
      Merger(whole, parts).Run([&](std::int64_t first, std::int64_t count, NodeStack& stack) {
        for (std::size_t n = 0; n < stack.nodes().size(); ++n) {
          std::vector<char*> to;
          for (std::size_t k = 0; k < kinds.size(); ++k) {
            to.push_back(packed[k].data() + (n * outputs + static_cast<std::size_t>(first)) *
                                                ValueBytes(kinds[k], whole.dtype));
          }
          cpu::Pack({whole.dtype, whole.bundle()}, kinds, stack.At(n), count, packed_indices, 0,
                    to);
        }
      });
  if (!merged.ok()) return merged;
  return packed;
}

}  // namespace warpfold
