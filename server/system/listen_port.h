// Listening on a port, and who holds it where that cannot be.
#ifndef WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_
#define WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

// Sockets that listen at an address, from which nobody accepts yet. While it lives nobody else can
// listen there.
struct ListeningPort {
  int error = 0;  // of listening; EADDRNOTAVAIL of a name that is no address
  int port = 0;   // that they have
  // At each address of a name that is one of this host. They do not block.
  std::vector<OwnedDescriptor> sockets;
};
// 0.0.0.0 and :: both stand for every address of IPv4 and of IPv6. Of a name's addresses those that
// this host lacks, such as ::1, are left out; all others have to be free.
ListeningPort TryListening(const HostPort& address);
// The error in words.
std::string WhyNotListening(const HostPort& address, int error);

// The same for --`option`. UNAVAILABLE says why not, and who holds the port.
absl::StatusOr<ListeningPort> Listen(const std::string& option, const HostPort& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_LISTEN_PORT_H_
