#include "server/check/port_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/frontend/running_server.h"

namespace warpfold {
namespace {

constexpr char kServer[] = "warpfold-server";

struct HostPort {
  std::string host;  // without brackets
  int port = 0;
};

// REQUIRES: Config::Validate has taken `address`.
HostPort Split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  HostPort out{.host = address.substr(0, colon)};
  if (out.host.size() > 1 && out.host.front() == '[') {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  (void)absl::SimpleAtoi(address.substr(colon + 1), &out.port);
  return out;
}

// 0, or the errno of a bind; a name that is no address is EADDRNOTAVAIL.
int TryBind(const HostPort& at) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(at.host.empty() ? nullptr : at.host.c_str(), std::to_string(at.port).c_str(),
                  &hints, &found) != 0) {
    return EADDRNOTAVAIL;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  // As servers do: a port that closed a moment ago is free.
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int error = bind(descriptor, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  close(descriptor);
  return error;
}

// The inodes of the sockets that listen on `port`, as /proc/net/tcp lists them:
//   0: 0100007F:C383 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0  12345 ...
std::set<std::string> ListeningInodes(int port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, skipped, inode;
      words >> slot >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      const std::size_t colon = local.find(':');
      std::uint32_t number = 0;
      if (state == "0A" && colon != std::string::npos &&
          absl::SimpleHexAtoi(local.substr(colon + 1), &number) &&
          number == static_cast<std::uint32_t>(port)) {
        inodes.insert(inode);
      }
    }
  }
  return inodes;
}

bool Holds(const std::filesystem::path& process, const std::set<std::string>& inodes) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unreadable;
    const std::string target = std::filesystem::read_symlink(at->path(), unreadable).string();
    constexpr char kSocket[] = "socket:[";
    if (target.rfind(kSocket, 0) != 0) continue;
    if (inodes.count(target.substr(sizeof(kSocket) - 1, target.size() - sizeof(kSocket))) > 0) {
      return true;
    }
  }
  return false;
}

std::string Describe(const PortHolder& holder, const std::string& address, bool speaks_grpc) {
  std::string text = holder.command;
  if (speaks_grpc) {
    const absl::StatusOr<std::string> version = AskServerVersion(address);
    absl::StrAppend(&text, " ", version.ok() ? *version : "that does not answer");
  }
  return absl::StrCat("held by ", text, " (pid ", holder.pid, ")");
}

}  // namespace

std::optional<PortHolder> FindPortHolder(int port) {
  const std::set<std::string> inodes = ListeningInodes(port);
  if (inodes.empty()) return std::nullopt;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    PortHolder holder;
    if (!absl::SimpleAtoi(at->path().filename().string(), &holder.pid)) continue;
    if (!Holds(at->path(), inodes)) continue;
    std::ifstream(at->path() / "comm") >> holder.command;
    return holder;
  }
  return std::nullopt;
}

void CheckPort(const std::string& option, const std::string& address, bool speaks_grpc,
               CheckReport& report) {
  constexpr char kHost[] = "host";
  const std::string check = absl::StrCat("port ", address);
  const HostPort at = Split(address);
  const int error = TryBind(at);
  if (error == 0) {
    report.Ok(kHost, check, at.port == 0 ? "any that is free" : "free");
    return;
  }
  if (error != EADDRINUSE) {
    report.Fail(kHost, check, std::strerror(error),
                absl::StrCat("give --", option, " an address of this host that this user may use"));
    return;
  }
  const std::string other = absl::StrCat("give --", option, " another port");
  const std::optional<PortHolder> holder = FindPortHolder(at.port);
  if (!holder.has_value()) {
    report.Fail(kHost, check, "held by a process that the system does not name", other);
  } else if (holder->command == kServer) {
    report.Warn(kHost, check, Describe(*holder, address, speaks_grpc),
                absl::StrCat("a second server needs another --", option));
  } else {
    report.Fail(kHost, check, Describe(*holder, address, false),
                absl::StrCat("end it, or ", other));
  }
}

}  // namespace warpfold
