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

std::string HexOf(const std::uint8_t* bytes, std::size_t count) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), count));
}

std::string OfIpv4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return kUnknown;
  return absl::StrCat("ipv4:", HexOf(reinterpret_cast<const std::uint8_t*>(&address), 4));
}

std::string OfIpv6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return kUnknown;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return absl::StrCat("ipv4:", HexOf(address.s6_addr + 12, 4));
  }
  return absl::StrCat("ipv6:", HexOf(address.s6_addr, 8));
}

}  // namespace

std::string AddressOf(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix")) return "unix";
  const std::string text = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  absl::string_view host = text;
  if (absl::ConsumePrefix(&host, "ipv4:")) {
    return OfIpv4(std::string(host.substr(0, host.find(':'))));
  }
  if (!absl::ConsumePrefix(&host, "ipv6:") || !absl::ConsumePrefix(&host, "[")) return kUnknown;
  // Without the interface of a link's own address, "fe80::1%eth0".
  return OfIpv6(std::string(host.substr(0, host.find_first_of("%]"))));
}

}  // namespace warpfold
