// Where clients of one address connect: the sockets, and the file of one of UNIX.
#ifndef WARPFOLD_SERVER_SYSTEM_LISTENING_SOCKET_H_
#define WARPFOLD_SERVER_SYSTEM_LISTENING_SOCKET_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/system/listen_address.h"
#include "server/system/owned_descriptor.h"
#include "server/system/socket_file.h"

namespace warpfold {

// An address of the server's, and its sockets' as the system has them.
struct BoundAddress {
  ListenAddress address;
  std::vector<SocketAddress> sockets;
};

// Connections wait there until somebody accepts them.
class ListeningSocket {
 public:
  // Port 0 takes any. UNAVAILABLE `listen-address`: cannot listen there, why, and who does.
  static absl::StatusOr<ListeningSocket> Open(const ListenAddress& address);
  ListeningSocket(ListeningSocket&&) = default;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket() { Close(); }

  // With the port that it has.
  const ListenAddress& address() const { return address_; }
  BoundAddress bound() const;
  // Which do not block; none once it is closed.
  std::vector<int> descriptors() const;

  // Nobody connects any more, and those whom nobody has accepted are turned away.
  void Close();

 private:
  explicit ListeningSocket(ListenAddress address) : address_(std::move(address)) {}

  ListenAddress address_;
  std::vector<OwnedDescriptor> sockets_;  // of a port
  std::optional<SocketFile> file_;        // else
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_LISTENING_SOCKET_H_
