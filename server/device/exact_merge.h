// merge.h where sums are exact: parts join in any order, and each is one value an output.
//
// Step of a request: 3, for Merge, which needs no device. Pure functions; safe from any thread.
// Tests alone call it until exact sums are served.
#ifndef WARPFOLD_SERVER_DEVICE_EXACT_MERGE_H_
#define WARPFOLD_SERVER_DEVICE_EXACT_MERGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/device/merge.h"

namespace warpfold {

// Both: `parts` are one or more, of which none has elements of another; their values are those of
// part_values.h, and of nodes they have none. INVALID_ARGUMENT
// `states[i].components[j].values`: a value is not one that elements come to, or there are too few
// or too many. RESOURCE_EXHAUSTED: no memory for the result.

// The results, one an op. REQUIRES: the parts are the whole. OUT_OF_RANGE, DATA_LOSS as of a
// reduction.
absl::StatusOr<std::vector<std::string>> MergeExactlyToResults(
    const Plan& whole, const std::vector<PartValues>& parts);

// The values of the parts together.
absl::StatusOr<std::vector<std::string>> MergeExactlyToValues(const Plan& whole,
                                                              const std::vector<PartValues>& parts);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_EXACT_MERGE_H_
