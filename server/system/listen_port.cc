#include "server/system/listen_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

SocketAddress EveryAddress(int family, int port) {
  SocketAddress every;
  every.storage.ss_family = static_cast<sa_family_t>(family);
  every.size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  SetPort(every, port);
  return every;
}

// errno says why on a negative one.
OwnedDescriptor ListenAt(const SocketAddress& address) {
  OwnedDescriptor listener(
      socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return listener;
  // As servers do: a port that closed a moment ago is free.
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.get()->sa_family == AF_INET6) {
    const int off = 0;  // every address of IPv4, too
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  // Two may bind a port with that option; the second cannot listen.
  if (bind(listener.get(), address.get(), address.size) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return OwnedDescriptor(-1);
  }
  return listener;
}

bool IsOfAnotherHost(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

std::vector<SocketAddress> AddressesOf(const HostPort& address) {
  if (!address.is_every_address()) return Resolve(address);
  // The first is the second, too, but on a host without IPv6.
  return {EveryAddress(AF_INET6, address.port), EveryAddress(AF_INET, address.port)};
}

ListeningPort ListenAtAll(const HostPort& address) {
  ListeningPort listening{.error = EADDRNOTAVAIL};
  for (SocketAddress one : AddressesOf(address)) {
    if (listening.port != 0) SetPort(one, listening.port);
    OwnedDescriptor listener = ListenAt(one);
    const int error = errno;
    if (listener.get() >= 0) {
      listening.error = 0;
      listening.port = PortOf(OwnAddressOf(listener.get()));
      listening.sockets.push_back(std::move(listener));
      if (address.is_every_address()) break;
    } else if (!IsOfAnotherHost(error)) {
      return {.error = error};
    }
  }
  return listening;
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

ListeningPort TryListening(const HostPort& address) {
  // The port that the system gave at one address of a name may be taken at another.
  constexpr int kTries = 16;
  ListeningPort listening = ListenAtAll(address);
  for (int i = 1; i < kTries && address.port == 0 && listening.error == EADDRINUSE; ++i) {
    listening = ListenAtAll(address);
  }
  return listening;
}

std::string WhyNotListening(const HostPort& address, int error) {
  if (error == EADDRNOTAVAIL && AddressesOf(address).empty()) return "the name has no address";
  return std::strerror(error);
}

absl::StatusOr<ListeningPort> Listen(const std::string& option, const HostPort& address) {
  ListeningPort listening = TryListening(address);
  if (listening.error == 0) return listening;
  std::string why = WhyNotListening(address, listening.error);
  const auto holder = listening.error == EADDRINUSE ? FindPortHolder(address.port) : std::nullopt;
  if (holder.has_value()) {
    why = absl::StrCat("held by ", holder->command, " (pid ", holder->pid, ")");
  }
  return absl::UnavailableError(
      absl::StrCat(option, ": cannot listen on ", ToString(address), ": ", why));
}

}  // namespace warpfold
