// Asks a server that runs already, for --check.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_RUNNING_SERVER_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_RUNNING_SERVER_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/system/listen_address.h"

namespace warpfold {

// The version of the server that listens at `address`, without TLS; "that is starting"
// of one that serves nobody yet. An address of all interfaces is asked by loopback. UNAVAILABLE: it
// ends the connection, as one with TLS does. DEADLINE_EXCEEDED: it does not answer within two
// seconds. Waits.
absl::StatusOr<std::string> AskServerVersion(const ListenAddress& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_RUNNING_SERVER_H_
