#include "client/cpp/target.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace warpfold::client {
namespace {

constexpr int kPortMax = 65535;

// How much of the target stands before its addresses; npos: it has none with a port.
std::size_t AddressesBegin(std::string_view target) {
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = scheme.size();
    if (!target.substr(path).starts_with("//")) return path;
    const std::size_t authority_end = target.find('/', path + 2);  // "dns://8.8.8.8/a"
    return authority_end == target.npos ? target.npos : authority_end + 1;
  }
  for (const std::string_view scheme : {"unix:", "unix-abstract:", "vsock:"}) {
    if (target.starts_with(scheme)) return target.npos;
  }
  return target.find('/') == target.npos ? 0 : target.npos;
}

std::string AddressWithPort(const std::string& address) {
  if (address.empty()) return address;
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

// "50051" of "a:50051" and "[::1]:50051"; empty without one.
std::string_view PortOf(std::string_view address) {
  const std::size_t bracket = address.find(']');
  const std::size_t colon = address.find(':', bracket == address.npos ? 0 : bracket);
  const bool is_ipv6 = bracket == address.npos && colon != address.rfind(':');
  return colon == address.npos || is_ipv6 ? std::string_view() : address.substr(colon + 1);
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
  for (const std::string_view scheme : {"http://", "https://", "grpc://", "grpcs://"}) {
    if (!target.starts_with(scheme)) continue;
    std::string rest = target.substr(scheme.size());
    while (rest.ends_with('/')) rest.pop_back();
    return absl::InvalidArgumentError(
        absl::StrCat("'", target, "' is a URL; a target has no ", std::string(scheme), ": ", rest));
  }
  const std::size_t begin = AddressesBegin(target);
  if (begin == target.npos) return absl::OkStatus();
  const std::vector<std::string> addresses = absl::StrSplit(target.substr(begin), ',');
  for (const std::string& address : addresses) {
    const std::string port(PortOf(address));
    const bool is_number = port.find_first_not_of("0123456789") == port.npos && !port.empty();
    int number = 0;
    if (!is_number || (absl::SimpleAtoi(port, &number) && number <= kPortMax)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", target, "': port ", port, " is above ", kPortMax));
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
