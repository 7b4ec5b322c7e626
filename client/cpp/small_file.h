// Files that a user names for a connection: a token, certificates.
//
// Thread safety: without state.
#ifndef WARPFOLD_CLIENT_CPP_SMALL_FILE_H_
#define WARPFOLD_CLIENT_CPP_SMALL_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace warpfold::client {

// All of a file, which may be a pipe, of at most 1 MiB. NOT_FOUND "PATH: cannot be read", which a
// folder cannot either; INVALID_ARGUMENT "PATH: has more than 1 MiB".
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_SMALL_FILE_H_
