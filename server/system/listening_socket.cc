#include "server/system/listening_socket.h"

#include <variant>

#include "server/system/listen_port.h"

namespace warpfold {

absl::StatusOr<ListeningSocket> ListeningSocket::Open(const ListenAddress& address) {
  ListeningSocket opened(address);
  if (const UnixSocket* socket = address.unix_socket(); socket != nullptr) {
    absl::StatusOr<SocketFile> file = SocketFile::Listen(*socket);
    if (!file.ok()) return file.status();
    opened.file_.emplace(*std::move(file));
    return opened;
  }
  absl::StatusOr<ListeningPort> port = Listen("listen-address", *address.tcp());
  if (!port.ok()) return port.status();
  std::get<HostPort>(opened.address_.at).port = port->port;
  opened.sockets_ = std::move(port->sockets);
  return opened;
}

BoundAddress ListeningSocket::bound() const {
  BoundAddress bound{address_, {}};
  for (const int socket : descriptors()) bound.sockets.push_back(OwnAddressOf(socket));
  return bound;
}

std::vector<int> ListeningSocket::descriptors() const {
  std::vector<int> descriptors;
  if (file_.has_value()) descriptors.push_back(file_->listener());
  for (const OwnedDescriptor& socket : sockets_) descriptors.push_back(socket.get());
  return descriptors;
}

void ListeningSocket::Close() {
  if (file_.has_value()) file_->Remove();
  file_.reset();
  sockets_.clear();
}

}  // namespace warpfold
