// "host:port", as options and messages write an address.
#ifndef WARPFOLD_SERVER_SYSTEM_HOST_PORT_H_
#define WARPFOLD_SERVER_SYSTEM_HOST_PORT_H_

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace warpfold {

struct HostPort {
  std::string host;  // a name or a number; IPv6 without its brackets: "::1"
  int port = 0;

  // 0.0.0.0 or [::].
  bool is_every_address() const;
  // Reached from this host alone: each address that it stands for is of 127.0.0.0/8 or ::1. Asks
  // the system what a name stands for, and may wait.
  bool is_loopback() const;
};

// One of the system's, with its port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// What `address` stands for: several where a name does. Empty: nothing, or not known now. Asks the
// system what a name stands for, and may wait.
std::vector<SocketAddress> Resolve(const HostPort& address);

// That of a socket which is bound.
SocketAddress OwnAddressOf(int socket);

// 0: it has none.
int PortOf(const SocketAddress& address);
// REQUIRES: of IPv4 or IPv6.
void SetPort(SocketAddress& address, int port);

// As numbers: "127.0.0.1:50051"; empty: it is none with a port.
std::string ToString(const SocketAddress& address);

// None: no number of 0 to 65535 behind the last ':', an IPv6 address without brackets, anything
// else in them, or a host with a blank. The host may be empty.
std::optional<HostPort> ParseHostPort(const std::string& text);

// Where a server is to listen. INVALID_ARGUMENT: it is none, or has no host.
absl::StatusOr<HostPort> ParseOwnAddress(const std::string& text);

// Where this host reaches who listens at `address`: the loopback address in place of every address.
HostPort Reachable(HostPort address);

// IPv6 in brackets.
std::string ToString(const HostPort& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_HOST_PORT_H_
