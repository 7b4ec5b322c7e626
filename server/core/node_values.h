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

#include "kernels/part.h"
#include "kernels/plan.h"

namespace warpfold {

class NodeValues {
 public:
  // `whole` must outlive it.
  NodeValues(const Plan& whole, std::vector<Range> nodes);

  const std::vector<Range>& nodes() const { return nodes_; }

  // Packs what a lane left of node `n` in the planes from `plane` on: the states of `slice`, a
  // SlicePlan.
  void Keep(const Plan& slice, const std::string& states, std::size_t n, std::int64_t plane);

  std::vector<std::string> Take() { return std::move(values_); }

 private:
  const Plan& whole_;
  const std::vector<Range> nodes_;
  const std::vector<ValueKind> kinds_;
  std::vector<std::string> values_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_NODE_VALUES_H_
