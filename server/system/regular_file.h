// Files that an operator names: certificates, the configuration.
#ifndef WARPFOLD_SERVER_SYSTEM_REGULAR_FILE_H_
#define WARPFOLD_SERVER_SYSTEM_REGULAR_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace warpfold {

// All of the file at `path`, which has at most 1 MiB. Never waits for a writer, as a pipe would
// make it. INVALID_ARGUMENT: "PATH cannot be read: No such file or directory", "PATH is no regular
// file", "PATH has more than 1 MiB".
absl::StatusOr<std::string> ReadRegularFile(const std::string& path);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_REGULAR_FILE_H_
