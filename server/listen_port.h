// Whether a port that the server is to listen on is free, and who holds it.
#ifndef WARPFOLD_SERVER_LISTEN_PORT_H_
#define WARPFOLD_SERVER_LISTEN_PORT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/host_port.h"

namespace warpfold {

// The process that listens on a TCP port.
struct PortHolder {
  int pid = 0;
  std::string command;  // "warpfold-server"
};

// None: nobody does, or the process is another user's and the system does not say.
std::optional<PortHolder> FindPortHolder(int port);

// 0, or the errno of listening on `address`; EADDRNOTAVAIL of a name that is no address.
int ListenError(const HostPort& address);

// OK when a server can listen on `address`, of --`option`. UNAVAILABLE says why not, and who holds
// the port: gRPC's words do not.
absl::Status CheckFree(const std::string& option, const HostPort& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_LISTEN_PORT_H_
