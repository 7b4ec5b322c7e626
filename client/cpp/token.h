// The token by which a server knows its caller, from the file that holds it.
#ifndef WARPFOLD_CLIENT_CPP_TOKEN_H_
#define WARPFOLD_CLIENT_CPP_TOKEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace warpfold::client {

// INVALID_ARGUMENT, without the token: a character that is not printable ASCII, or a blank.
absl::Status CheckToken(absl::string_view token);

// What is in the file at `path`, without the blanks and line ends around it. NOT_FOUND: it cannot
// be read; INVALID_ARGUMENT: it holds no token.
absl::StatusOr<std::string> ReadToken(const std::string& path);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_TOKEN_H_
