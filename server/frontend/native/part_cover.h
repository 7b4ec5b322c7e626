// Whether parts make up a tensor.
//
// Step of a request: 1 for Merge. A pure function.
#ifndef WARPFOLD_SERVER_FRONTEND_NATIVE_PART_COVER_H_
#define WARPFOLD_SERVER_FRONTEND_NATIVE_PART_COVER_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/part.h"

namespace warpfold {

// The box that the parts make up: `whole`, if it is given. One or more parts, all of one tensor's.
// INVALID_ARGUMENT `states...`: an element of it is in none of them, or in several, which the
// status names; or they are cut in too many dimensions to tell.
absl::StatusOr<Box> UnionOf(const std::vector<Box>& parts, const std::optional<Box>& whole);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_NATIVE_PART_COVER_H_
