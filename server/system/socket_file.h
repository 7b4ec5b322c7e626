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

// The file of a socket that gRPC listens at. gRPC removes whatever socket lies under the name that
// it was given when it ends, another server's, too. So it is given one that leads to the file until
// Take(), and then nowhere, and this object removes the file.
//
// Outlives the gRPC server.
class SocketFile {
 public:
  // Nothing is made yet. UNAVAILABLE `listen-address`: there is no such folder.
  static absl::StatusOr<SocketFile> InItsFolder(const UnixSocket& socket);

  // What gRPC is given. Who connects uses the path.
  std::string name() const;

  // Gives the file that gRPC has made its group and its mode. UNAVAILABLE `listen-address`: there
  // is no such group, or this user may not give it; it is another's file.
  absl::Status Take();

  // Removes the file that was taken, if it still lies at its path; nothing a second time. Before
  // the server stops listening: it keeps those away who would replace a file that is left over.
  // Only who puts another there between a look and the next call of the system loses it.
  void Remove();

 private:
  SocketFile(const UnixSocket& socket, OwnedDescriptor at) : socket_(socket), at_(std::move(at)) {}
  absl::Status SetAccess() const;

  UnixSocket socket_;
  OwnedDescriptor at_;     // the folder; once it is taken, the file, whose number nobody else gets
  bool is_there_ = false;  // taken, and not removed
};

// OK when a server can listen there: this user may make a file there and give it to the group, and
// nothing is there, or a socket at which nobody listens any more. UNAVAILABLE `listen-address` says
// why not, and who does.
absl::Status CheckFree(const UnixSocket& socket);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_SOCKET_FILE_H_
