#include "server/end_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "server/open_files.h"

namespace warpfold {
namespace {

// An accepted socket has its listener's port, or path, for its own.
bool IsOf(const sockaddr_storage& own, const ListenAddress& address) {
  if (const UnixSocket* socket = address.unix_socket(); socket != nullptr) {
    const std::string& name = socket->made_as.empty() ? socket->path : socket->made_as;
    return own.ss_family == AF_UNIX && name == reinterpret_cast<const sockaddr_un&>(own).sun_path;
  }
  in_port_t port = 0;
  if (own.ss_family == AF_INET) {
    port = reinterpret_cast<const sockaddr_in&>(own).sin_port;
  } else if (own.ss_family == AF_INET6) {
    port = reinterpret_cast<const sockaddr_in6&>(own).sin6_port;
  }
  return ntohs(port) == address.tcp()->port;
}

bool IsConnectionOf(int descriptor, const ListenAddress& address) {
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  int listens = 1;
  size = sizeof(listens);
  getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  return IsOf(own, address) && listens == 0;
}

}  // namespace

int EndConnections(const ListenAddress& address) {
  // All numbers, since to read the list of those in use takes one. The kernel's own bound of
  // them (fs.nr_open) is this one unless somebody raised it.
  constexpr std::int64_t kDescriptorsMax = 1 << 20;
  const int end = static_cast<int>(std::min(OpenFilesLimit().soft, kDescriptorsMax));
  int count = 0;
  for (int descriptor = 0; descriptor < end; ++descriptor) {
    if (IsConnectionOf(descriptor, address) && shutdown(descriptor, SHUT_RDWR) == 0) ++count;
  }
  return count;
}

}  // namespace warpfold
