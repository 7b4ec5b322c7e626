#include "server/system/socket_file.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

absl::Status Unavailable(const UnixSocket& socket, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("listen-address: cannot listen on unix:", socket.path, ": ", why));
}

absl::StatusOr<gid_t> FindGroup(const UnixSocket& socket) {
  gid_t number = 0;
  // The system's word for "as it is" is no group.
  const bool is_number = absl::SimpleAtoi(socket.group, &number);
  if (is_number && number != static_cast<gid_t>(-1)) return number;
  std::vector<char> space(1 << 16);
  group entry{};
  group* found = nullptr;
  const int error = getgrnam_r(socket.group.c_str(), &entry, space.data(), space.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return Unavailable(socket, error == 0 ? absl::StrCat("there is no group '", socket.group, "'")
                                        : std::string(std::strerror(error)));
}

std::string FolderOf(const UnixSocket& socket) {
  return std::filesystem::path(socket.path).parent_path().string();
}

absl::Status CannotGive(const UnixSocket& socket, int error) {
  return Unavailable(socket, absl::StrCat("cannot give it to the group '", socket.group,
                                          "': ", std::strerror(error)));
}

// Whether this user may give what it makes in the folder to the socket's group.
absl::Status TryGroup(const UnixSocket& socket) {
  const absl::StatusOr<gid_t> group = FindGroup(socket);
  if (!group.ok()) return group.status();
  // A file that never has a name. Not every file system has such ones: the start will tell there.
  const OwnedDescriptor file(
      open(FolderOf(socket).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  const bool may = file.get() < 0 || fchown(file.get(), static_cast<uid_t>(-1), *group) == 0;
  return may ? absl::OkStatus() : CannotGive(socket, errno);
}

// Whether this user may remove the file, in a folder that it may write.
absl::Status CheckMayReplace(const UnixSocket& socket, const struct stat& file) {
  struct stat folder {};
  const bool is_sticky =
      stat(FolderOf(socket).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0;
  const uid_t us = geteuid();
  if (!is_sticky || us == 0 || us == file.st_uid || us == folder.st_uid) return absl::OkStatus();
  return Unavailable(socket, "another user's is there, which only that user may remove");
}

// "warpfold-server (pid 12)", who listens at what `client` is connected to.
std::string NameOfListener(int client) {
  ucred listener{};
  socklen_t size = sizeof(listener);
  getsockopt(client, SOL_SOCKET, SO_PEERCRED, &listener, &size);
  std::string command = "a process";
  std::ifstream(absl::StrCat("/proc/", listener.pid, "/comm")) >> command;
  return absl::StrCat(command, " (pid ", listener.pid, ")");
}

}  // namespace

sockaddr_un AddressOf(const UnixSocket& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

absl::StatusOr<SocketFile> SocketFile::Listen(const UnixSocket& socket) {
  if (absl::Status free = CheckFree(socket); !free.ok()) return free;
  // Left by a server that was killed.
  if (unlink(socket.path.c_str()) != 0 && errno != ENOENT) {
    return Unavailable(
        socket, absl::StrCat("cannot replace the one that is there: ", std::strerror(errno)));
  }
  OwnedDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return Unavailable(socket, std::strerror(errno));
  const sockaddr_un address = AddressOf(socket);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Unavailable(socket, std::strerror(errno));
  }
  SocketFile file(socket, std::move(listener));
  absl::Status taken = file.Take();
  if (taken.ok() && listen(file.listener(), SOMAXCONN) != 0) {
    taken = Unavailable(socket, std::strerror(errno));
  }
  if (taken.ok()) return file;
  file.Remove();
  return taken;
}

absl::Status SocketFile::Take() {
  OwnedDescriptor file(open(socket_.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || fstat(file.get(), &about) != 0) {
    return Unavailable(socket_, std::strerror(errno));
  }
  if (!S_ISSOCK(about.st_mode) || about.st_uid != geteuid()) {
    return Unavailable(socket_, "another file has taken its place");
  }
  file_ = std::move(file);
  return SetAccess();
}

absl::Status SocketFile::SetAccess() const {
  if (!socket_.group.empty()) {
    const absl::StatusOr<gid_t> group = FindGroup(socket_);
    if (!group.ok()) return group.status();
    if (fchownat(file_.get(), "", static_cast<uid_t>(-1), *group, AT_EMPTY_PATH) != 0) {
      return CannotGive(socket_, errno);
    }
  }
  // fchmod takes no descriptor of this kind.
  const std::string itself = absl::StrCat("/proc/self/fd/", file_.get());
  if (chmod(itself.c_str(), socket_.mode) == 0) return absl::OkStatus();
  return Unavailable(socket_, std::strerror(errno));
}

void SocketFile::Remove() {
  const OwnedDescriptor file = std::move(file_);
  struct stat own {};
  struct stat there {};
  const bool is_own = fstat(file.get(), &own) == 0 && lstat(socket_.path.c_str(), &there) == 0 &&
                      own.st_dev == there.st_dev && own.st_ino == there.st_ino;
  if (is_own) unlink(socket_.path.c_str());
}

absl::Status CheckFree(const UnixSocket& socket) {
  const std::string folder = FolderOf(socket);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return Unavailable(socket, absl::StrCat(folder, ": ", std::strerror(errno)));
  }
  if (!socket.group.empty()) {
    if (absl::Status may = TryGroup(socket); !may.ok()) return may;
  }
  struct stat about {};
  if (lstat(socket.path.c_str(), &about) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Unavailable(socket, std::strerror(errno));
  }
  if (!S_ISSOCK(about.st_mode)) return Unavailable(socket, "a file is there that is no socket");
  const OwnedDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (client.get() < 0) return Unavailable(socket, std::strerror(errno));
  const sockaddr_un address = AddressOf(socket);
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return Unavailable(socket, absl::StrCat("held by ", NameOfListener(client.get())));
  }
  // Left by a server that was killed.
  if (errno == ECONNREFUSED) return CheckMayReplace(socket, about);
  return Unavailable(socket, errno == EAGAIN ? "held by another process" : std::strerror(errno));
}

}  // namespace warpfold
