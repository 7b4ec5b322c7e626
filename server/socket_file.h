// The file of a UNIX socket: who may connect to it.
#ifndef WARPFOLD_SERVER_SOCKET_FILE_H_
#define WARPFOLD_SERVER_SOCKET_FILE_H_

#include <sys/stat.h>
#include <sys/un.h>

#include "absl/status/status.h"
#include "server/listen_address.h"

namespace warpfold {

// While it lives, files that this process makes are the owner's alone: gRPC makes the socket, and
// nobody else connects before it has its group and mode. Of the whole process: one at a time.
class UnopenedSocketFiles {
 public:
  UnopenedSocketFiles() : before_(umask(0177)) {}
  ~UnopenedSocketFiles() { umask(before_); }
  UnopenedSocketFiles(const UnopenedSocketFiles&) = delete;
  UnopenedSocketFiles& operator=(const UnopenedSocketFiles&) = delete;

 private:
  const mode_t before_;
};

// As the system has it. REQUIRES: ParseListenAddresses takes the path.
sockaddr_un AddressOf(const UnixSocket& socket);

// Gives the file its group and its mode. UNAVAILABLE `listen-address`: there is no such group, or
// this user may not give it.
absl::Status SetAccess(const UnixSocket& socket);

// OK when a server can listen there: nothing is there, or a socket at which nobody listens any
// more. UNAVAILABLE `listen-address` says why not, and who does.
absl::Status CheckFree(const UnixSocket& socket);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SOCKET_FILE_H_
