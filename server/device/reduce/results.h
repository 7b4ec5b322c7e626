// The result arrays of one reduction, or its states, in one block of memory, and their way into an
// Outcome.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_RESULTS_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/finish.h"
#include "kernels/plan.h"

namespace warpfold {

// One array an op, or, of a plan that leaves states, of those; 16-byte aligned, from offset 0 on.
class ResultLayout {
 public:
  explicit ResultLayout(const Plan& plan);  // REQUIRES: it leaves results
  // Of a plan that leaves states: an array for each of these numbers of bytes an output.
  ResultLayout(const Plan& plan, const std::vector<std::size_t>& state_bytes);

  std::size_t total_bytes() const { return total_bytes_; }

  // The kernels' view of a block that starts at `base`: of results, and of either.
  ResultTargets Targets(const Plan& plan, void* base) const;
  Output OutputAt(const Plan& plan, void* base, Overflow* overflow) const;
  // Where each array lies in it.
  std::vector<void*> ArraysAt(void* base) const;

  // Each array's bytes out of a block in host memory. RESOURCE_EXHAUSTED: NoHostMemory.
  absl::StatusOr<std::vector<std::string>> Extract(const char* base) const;

 private:
  void Add(std::size_t bytes);

  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> bytes_;
  std::size_t total_bytes_ = 0;
};

// The results of a tensor with no elements, as the contract has them: 0 for SUM, 1 for PROD, NaN
// for MEAN ... REQUIRES: plan.element_count == 0. RESOURCE_EXHAUSTED: NoHostMemory.
absl::StatusOr<std::vector<std::string>> EmptyResults(const Plan& plan);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_RESULTS_H_
