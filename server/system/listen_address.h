// Where the server takes connections, as --listen-address says it.
#ifndef WARPFOLD_SERVER_SYSTEM_LISTEN_ADDRESS_H_
#define WARPFOLD_SERVER_SYSTEM_LISTEN_ADDRESS_H_

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/system/host_port.h"

namespace warpfold {

struct UnixSocket {
  static constexpr mode_t kDefaultMode = 0660;

  std::string path;  // absolute
  mode_t mode = kDefaultMode;
  std::string group{};  // its name or number; empty: the server's own
};

struct ListenAddress {
  std::variant<HostPort, UnixSocket> at;

  // Null: it is the other.
  const HostPort* tcp() const { return std::get_if<HostPort>(&at); }
  const UnixSocket* unix_socket() const { return std::get_if<UnixSocket>(&at); }

  // Nobody on another host reaches it.
  bool is_local() const { return tcp() == nullptr || tcp()->is_loopback(); }
};

// "host:port" or "unix:/path": the address's name in files of callers and messages, and gRPC's
// target.
std::string ToString(const ListenAddress& address);
std::vector<std::string> NamesOf(const std::vector<ListenAddress>& addresses);

// One or more with commas between: "127.0.0.1:50051, unix:/run/warpfold.sock mode=0660 group=gpu".
// INVALID_ARGUMENT: what is wrong with which.
absl::StatusOr<std::vector<ListenAddress>> ParseListenAddresses(absl::string_view text);

// The port of the first that has one; 0: there are UNIX sockets alone.
int FirstPort(const std::vector<ListenAddress>& addresses);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_LISTEN_ADDRESS_H_
