#include "server/core/node_values.h"

#include "kernels/cpu/pack.h"

namespace warpfold {

NodeValues::NodeValues(const Plan& whole, std::vector<Range> nodes)
    : whole_(whole), nodes_(std::move(nodes)), kinds_(ValueKindsOf(whole)) {
  const std::size_t count = nodes_.size() * static_cast<std::size_t>(whole.output_count);
  for (const ValueKind kind : kinds_) {
    values_.emplace_back(count * ValueBytes(kind, whole.dtype), '\0');
  }
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
