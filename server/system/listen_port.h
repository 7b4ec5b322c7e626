// Whether a port that the server is to listen on is free, and who holds it.
#ifndef WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_
#define WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/system/host_port.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {

// The process that listens on a TCP port.
struct PortHolder {
  int pid = 0;
  std::string command;  // "warpfold-server"
};

// None: nobody does, or the process is another user's and the system does not say.
std::optional<PortHolder> FindPortHolder(int port);

// A port that was tried. While it lives nobody else can listen there.
struct TriedPort {
  int error = 0;                      // of listening; EADDRNOTAVAIL of a name that is no address
  std::vector<OwnedDescriptor> held;  // at each address of a name that can be had
};
TriedPort TryPort(const HostPort& address);

// OK when a server can listen on `address`, of --`option`. UNAVAILABLE says why not, and who holds
// the port: gRPC's words do not.
absl::Status CheckFree(const std::string& option, const HostPort& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_
