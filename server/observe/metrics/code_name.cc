#include "server/observe/metrics/code_name.h"

#include <cstddef>
#include <iterator>

namespace warpfold {

const char* CodeName(absl::StatusCode code) {
  static constexpr const char* kNames[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const std::size_t index = static_cast<std::size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

}  // namespace warpfold
