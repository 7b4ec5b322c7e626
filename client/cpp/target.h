// The port that a gRPC target may leave out, and what no target has.
//
// Thread safety: functions without state. Failure: INVALID_ARGUMENT.
#ifndef WARPFOLD_CLIENT_CPP_TARGET_H_
#define WARPFOLD_CLIENT_CPP_TARGET_H_

#include <string>

#include "absl/status/status.h"

namespace warpfold::client {

inline constexpr char kDefaultPort[] = "50051";  // gRPC's own is 443

// `target` with kDefaultPort behind each address without a port: "a", "dns:///a", "[::1]", "::1",
// "ipv4:10.0.0.1,10.0.0.2:1". What names no port at all ("unix:", "xds:", ...) and what is no
// target are as they were.
std::string WithDefaultPort(const std::string& target);

// Refuses what gRPC would take for something else: a URL's scheme, or a path without "unix:", for a
// name to look up; a port that is no number, for its first digits; one above 65535, which it wraps
// around; an empty one, for 443.
absl::Status CheckTarget(const std::string& target);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_TARGET_H_
