// The values of nodes of a tensor, as they travel and as server/device/merge.h takes them: one
// string for each of ValueKindsOf(whole), [node][output].
//
// Step of a request: 3. Not safe for concurrent use.
#ifndef WARPFOLD_SERVER_CORE_NODE_VALUES_H_
#define WARPFOLD_SERVER_CORE_NODE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/device/host_bytes.h"

namespace warpfold {

class NodeValues {
 public:
  // `whole` must outlive it. RESOURCE_EXHAUSTED: no memory for the values.
  static absl::StatusOr<NodeValues> Make(const Plan& whole, std::vector<Range> nodes);

  const std::vector<Range>& nodes() const { return nodes_; }

  // Packs what a lane left of node `n` in the planes from `plane` on: the states of `slice`, a
  // SlicePlan.
  void Keep(const Plan& slice, const std::string& states, std::size_t n, std::int64_t plane);

  std::vector<std::string> Take() { return std::move(values_); }
  // Their place in the budget, which goes with them.
  HostCharge TakeCharge() { return std::move(charge_); }

 private:
  NodeValues(const Plan& whole, std::vector<Range> nodes);

  const Plan& whole_;
  const std::vector<Range> nodes_;
  const std::vector<ValueKind> kinds_;
  std::vector<std::string> values_;
  HostCharge charge_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_NODE_VALUES_H_
