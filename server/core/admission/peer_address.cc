#include "server/core/admission/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace warpfold {
namespace {

constexpr char kUnknown[] = "unknown";
constexpr char kUnix[] = "unix";

std::string HexOf(const std::uint8_t* bytes, std::size_t count) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), count));
}

std::string Of(const in_addr& address) {
  return absl::StrCat("ipv4:", HexOf(reinterpret_cast<const std::uint8_t*>(&address), 4));
}

std::string Of(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return absl::StrCat("ipv4:", HexOf(address.s6_addr + 12, 4));
  }
  return absl::StrCat("ipv6:", HexOf(address.s6_addr, 8));
}

template <typename Address>
std::string OfHost(int family, absl::string_view host) {
  Address address{};
  const bool is_one = inet_pton(family, std::string(host).c_str(), &address) == 1;
  return is_one ? Of(address) : kUnknown;
}

}  // namespace

std::string AddressOf(absl::string_view peer) {
  if (absl::StartsWith(peer, kUnix)) return kUnix;
  const std::string text = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  absl::string_view host = text;
  if (absl::ConsumePrefix(&host, "ipv4:")) {
    return OfHost<in_addr>(AF_INET, host.substr(0, host.find(':')));
  }
  if (!absl::ConsumePrefix(&host, "ipv6:") || !absl::ConsumePrefix(&host, "[")) return kUnknown;
  // Without the interface of a link's own address, "fe80::1%eth0".
  return OfHost<in6_addr>(AF_INET6, host.substr(0, host.find_first_of("%]")));
}

std::string AddressOf(const sockaddr& peer) {
  if (peer.sa_family == AF_UNIX) return kUnix;
  if (peer.sa_family == AF_INET) return Of(reinterpret_cast<const sockaddr_in&>(peer).sin_addr);
  if (peer.sa_family == AF_INET6) return Of(reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  return kUnknown;
}

}  // namespace warpfold
