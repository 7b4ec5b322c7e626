#include "client/cpp/target.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace warpfold::client {
namespace {

constexpr int kPortMax = 65535;

// Whether gRPC finds the server without a port.
bool HasNoPort(std::string_view target) {
  constexpr std::string_view kSchemes[] = {
      "unix:", "unix-abstract:", "vsock:", "xds:", "google-c2p:"};
  return target.find("://") != target.npos ||
         std::any_of(std::begin(kSchemes), std::end(kSchemes),
                     [&](std::string_view scheme) { return target.starts_with(scheme); });
}

// How much of the target stands before its addresses; npos: it has none with a port.
std::size_t AddressesBegin(std::string_view target) {
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = scheme.size();
    if (!target.substr(path).starts_with("//")) return path;
    const std::size_t authority_end = target.find('/', path + 2);  // "dns://8.8.8.8/a"
    return authority_end == target.npos ? target.npos : authority_end + 1;
  }
  return HasNoPort(target) ? target.npos : 0;
}

std::string AddressWithPort(const std::string& address) {
  if (address.empty() || address.find('/') != address.npos) return address;
  if (address.starts_with('[')) {
    return address.ends_with(']') ? absl::StrCat(address, ":", kDefaultPort) : address;
  }
  switch (std::count(address.begin(), address.end(), ':')) {
    case 0:
      return absl::StrCat(address, ":", kDefaultPort);
    case 1:
      return address;
    default:  // an IPv6 address
      return absl::StrCat("[", address, "]:", kDefaultPort);
  }
}

// "50051" of "a:50051" and "[::1]:50051"; none without a ':' of its own.
std::optional<std::string_view> PortOf(std::string_view address) {
  const std::size_t bracket = address.find(']');
  const std::size_t colon = address.find(':', bracket == address.npos ? 0 : bracket);
  const bool is_ipv6 = bracket == address.npos && colon != address.rfind(':');
  if (colon == address.npos || is_ipv6) return std::nullopt;
  return address.substr(colon + 1);
}

// What is wrong with one address; empty: nothing. gRPC reads a port as far as it is a number, and
// wraps it around.
std::string ProblemOf(std::string_view address) {
  const std::size_t slash = address.find('/');
  if (slash != address.npos) {
    return absl::StrCat("has the path '", std::string(address.substr(slash)),
                        "'; a target is host or host:port");
  }
  const std::optional<std::string_view> port = PortOf(address);
  if (address.empty() || address == ":" || (port.has_value() && address.starts_with(':'))) {
    return "names no host";
  }
  if (!port.has_value()) return "";
  if (port->empty()) {
    return absl::StrCat("the port is empty; without the ':' it is ", kDefaultPort);
  }
  if (*port == "http" || *port == "https") return "";  // the names that gRPC knows
  if (port->find_first_not_of("0123456789") != port->npos) {
    return absl::StrCat("port '", std::string(*port), "' is not a number from 0 to ", kPortMax);
  }
  int number = 0;
  const bool is_port = absl::SimpleAtoi(std::string(*port), &number) && number <= kPortMax;
  return is_port ? "" : absl::StrCat("port ", std::string(*port), " is above ", kPortMax);
}

}  // namespace

std::string WithDefaultPort(const std::string& target) {
  const std::size_t begin = AddressesBegin(target);
  if (begin == target.npos) return target;
  std::vector<std::string> addresses = absl::StrSplit(target.substr(begin), ',');
  for (std::string& address : addresses) address = AddressWithPort(address);
  return absl::StrCat(target.substr(0, begin), absl::StrJoin(addresses, ","));
}

absl::Status CheckTarget(const std::string& target) {
  if (target.empty()) return absl::InvalidArgumentError("is empty");
  for (const std::string_view scheme : {"http://", "https://", "grpc://", "grpcs://"}) {
    if (!target.starts_with(scheme)) continue;
    std::string rest = target.substr(scheme.size());
    while (rest.ends_with('/')) rest.pop_back();
    return absl::InvalidArgumentError(
        absl::StrCat("'", target, "' is a URL; a target has no ", std::string(scheme), ": ", rest));
  }
  for (const std::string_view path : {"/", "./", "../"}) {
    if (!target.starts_with(path)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", target, "' is a path; a UNIX socket there is unix:", target));
  }
  const std::size_t begin = AddressesBegin(target);
  if (begin == target.npos) return absl::OkStatus();
  for (const std::string& address :
       std::vector<std::string>(absl::StrSplit(target.substr(begin), ','))) {
    const std::string problem = ProblemOf(address);
    if (problem.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("'", target, "': ", problem));
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
