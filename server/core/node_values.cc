#include "server/core/node_values.h"

#include "kernels/cpu/pack.h"

namespace warpfold {

NodeValues::NodeValues(const Plan& whole, std::vector<Range> nodes)
    : whole_(whole), nodes_(std::move(nodes)), kinds_(ValueKindsOf(whole)) {}

absl::StatusOr<NodeValues> NodeValues::Make(const Plan& whole, std::vector<Range> nodes) {
  NodeValues made(whole, std::move(nodes));
  const std::size_t count = made.nodes_.size() * static_cast<std::size_t>(whole.output_count);
  std::size_t bytes = 0;
  for (const ValueKind kind : made.kinds_) bytes += count * ValueBytes(kind, whole.dtype);
  absl::StatusOr<HostCharge> charge = HostCharge::Take(bytes);
  if (!charge.ok()) return charge.status();
  made.charge_ = *std::move(charge);
  const absl::Status filled = OrNoHostMemory([&] {
    for (const ValueKind kind : made.kinds_) {
      made.values_.emplace_back(count * ValueBytes(kind, whole.dtype), '\0');
    }
    return absl::OkStatus();
  });
  if (!filled.ok()) return filled;
  return made;
}

void NodeValues::Keep(const Plan& slice, const std::string& states, std::size_t n,
                      std::int64_t plane) {
  const std::int64_t outputs = whole_.output_count;
  const std::int64_t first =
      static_cast<std::int64_t>(n) * outputs + outputs / PlaneCount(whole_) * plane;
  std::vector<char*> to;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    to.push_back(values_[k].data() +
                 static_cast<std::size_t>(first) * ValueBytes(kinds_[k], slice.dtype));
  }
  cpu::Pack({slice.dtype, slice.bundle()}, kinds_, states.data(), slice.output_count,
            slice.geometry.reduced_runs, ReducedElementsOf(whole_, nodes_[n]).first_index, to);
}

}  // namespace warpfold
