// The file of a UNIX socket: who may connect to it, and that only its own server takes it away.
#ifndef WARPFOLD_SERVER_SYSTEM_SOCKET_FILE_H_
#define WARPFOLD_SERVER_SYSTEM_SOCKET_FILE_H_

#include <sys/stat.h>
#include <sys/un.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/system/listen_address.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {

// As the system has it. REQUIRES: ParseListenAddresses takes the path.
sockaddr_un AddressOf(const UnixSocket& socket);

// A socket that listens at a file, from which nobody accepts yet.
class SocketFile {
 public:
  // Nobody connects before the file has its group and mode. UNAVAILABLE `listen-address`: as
  // CheckFree says; another file has taken its place.
  static absl::StatusOr<SocketFile> Listen(const UnixSocket& socket);

  // Which does not block.
  int listener() const { return listener_.get(); }

  // Removes the file, if it still lies at its path; nothing a second time. Before the server stops
  // listening: it keeps those away who would replace a file that is left over. Only who puts
  // another there between a look and the next call of the system loses it.
  void Remove();

 private:
  SocketFile(const UnixSocket& socket, OwnedDescriptor listener)
      : socket_(socket), listener_(std::move(listener)) {}
  // The file by its descriptor, and not by its name: who may write the folder could put a link to
  // another file there meanwhile.
  absl::Status Take();
  absl::Status SetAccess() const;

  UnixSocket socket_;
  OwnedDescriptor listener_;
  OwnedDescriptor file_{-1};  // whose number nobody else gets while it is open
};

// OK when a server can listen there: this user may make a file there and give it to the group, and
// nothing is there, or a socket at which nobody listens any more. UNAVAILABLE `listen-address` says
// why not, and who does.
absl::Status CheckFree(const UnixSocket& socket);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_SOCKET_FILE_H_
