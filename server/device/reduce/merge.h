// The values of a tensor's parts, joined: the results of the whole, or the values of a larger part.
//
// Step of a request: 3, for Merge, which needs no device. Pure functions; safe from any thread.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_MERGE_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_MERGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "kernels/plan.h"

namespace warpfold {

// What a part came to: one string for each of ValueKindsOf(whole), as part_values.h has them.
struct PartValues {
  Box box;
  std::vector<std::string_view> values;
};

// Both: `parts` are one or more, in any order, of which none has elements of another.
// INVALID_ARGUMENT `states[i].components[j].values`: a value is not one that elements come to, or
// there are too few or too many. RESOURCE_EXHAUSTED: no memory for the result.

// The results, one an op. REQUIRES: the parts are the whole. OUT_OF_RANGE, DATA_LOSS as of a
// reduction.
absl::StatusOr<std::vector<std::string>> MergeToResults(const Plan& whole,
                                                        const std::vector<PartValues>& parts);

// The values of the parts together, one string a kind.
absl::StatusOr<std::vector<std::string>> MergeToValues(const Plan& whole,
                                                       const std::vector<PartValues>& parts);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_MERGE_H_
