#include "server/system/host_port.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace warpfold {

namespace {

bool IsLoopback(const in_addr& address) {
  constexpr unsigned char kLoopbackNet = 127;
  return reinterpret_cast<const unsigned char*>(&address.s_addr)[0] == kLoopbackNet;
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return IsLoopback(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  if (address.sa_family != AF_INET6) return false;
  const in6_addr& in6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&in6)) return IN6_IS_ADDR_LOOPBACK(&in6);
  in_addr in4{};
  std::memcpy(&in4, &in6.s6_addr[12], sizeof(in4));
  return IsLoopback(in4);
}

}  // namespace

bool HostPort::is_every_address() const { return host == "0.0.0.0" || host == "::"; }

bool HostPort::is_loopback() const {
  const std::vector<SocketAddress> addresses = Resolve(*this);
  return !addresses.empty() &&
         std::all_of(addresses.begin(), addresses.end(),
                     [](const SocketAddress& address) { return IsLoopback(*address.get()); });
}

std::vector<SocketAddress> Resolve(const HostPort& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> addresses;
  if (getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found) != 0) {
    return addresses;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress& copy = addresses.emplace_back();
    copy.size = one->ai_addrlen;
    std::memcpy(&copy.storage, one->ai_addr, one->ai_addrlen);
  }
  return addresses;
}

SocketAddress OwnAddressOf(int socket) {
  SocketAddress own{.size = sizeof(sockaddr_storage)};
  getsockname(socket, reinterpret_cast<sockaddr*>(&own.storage), &own.size);
  return own;
}

int PortOf(const SocketAddress& address) {
  in_port_t port = 0;
  if (address.storage.ss_family == AF_INET) {
    port = reinterpret_cast<const sockaddr_in&>(address.storage).sin_port;
  } else if (address.storage.ss_family == AF_INET6) {
    port = reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port;
  }
  return ntohs(port);
}

void SetPort(SocketAddress& address, int port) {
  const in_port_t number = htons(static_cast<in_port_t>(port));
  if (address.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = number;
  }
}

std::string ToString(const SocketAddress& address) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const bool is_tcp = address.storage.ss_family == AF_INET || address.storage.ss_family == AF_INET6;
  HostPort numbers;
  const bool is_known = is_tcp &&
                        getnameinfo(address.get(), address.size, host, sizeof(host), port,
                                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
                        absl::SimpleAtoi(port, &numbers.port);
  if (!is_known) return "";
  numbers.host = host;
  return ToString(numbers);
}

std::optional<HostPort> ParseHostPort(const std::string& text) {
  constexpr int kPortMax = 65535;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  HostPort out{.host = text.substr(0, colon)};
  const bool has_brackets =
      out.host.size() > 1 && out.host.front() == '[' && out.host.back() == ']';
  if (has_brackets) out.host = out.host.substr(1, out.host.size() - 2);
  // In brackets stands an IPv6 address, and nothing else; without them the end of one is no port.
  const bool is_ipv6 = out.host.find(':') != std::string::npos;
  if (is_ipv6 != has_brackets) return std::nullopt;
  const auto may_be_of_host = [](char letter) {
    return absl::ascii_isgraph(static_cast<unsigned char>(letter)) && letter != '[' &&
           letter != ']';
  };
  if (!std::all_of(out.host.begin(), out.host.end(), may_be_of_host)) return std::nullopt;
  const std::string digits = text.substr(colon + 1);
  const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !absl::SimpleAtoi(digits, &out.port) || out.port > kPortMax) {
    return std::nullopt;
  }
  return out;
}

// gRPC takes what is above 16 bits off a port, and 443 for one that is not there.
absl::StatusOr<HostPort> ParseOwnAddress(const std::string& text) {
  std::optional<HostPort> read = ParseHostPort(text);
  if (!read.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no host:port with a port of 0 to 65535"));
  }
  if (read->host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has no host: 0.0.0.0:", read->port,
                                                   " is every address of this one"));
  }
  return *std::move(read);
}

HostPort Reachable(HostPort address) {
  if (address.is_every_address()) address.host = address.host == "::" ? "::1" : "127.0.0.1";
  return address;
}

std::string ToString(const HostPort& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", address.host, "]:", address.port)
                 : absl::StrCat(address.host, ":", address.port);
}

}  // namespace warpfold
