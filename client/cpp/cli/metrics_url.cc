#include "client/cpp/cli/metrics_url.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

constexpr char kDefaultMetricsPort[] = "9464";

absl::StatusOr<Url> ParseUrl(const std::string& text) {
  const std::size_t host = text.find("://");
  const std::string scheme = host == std::string::npos ? "" : text.substr(0, host);
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: '", text, "' is not http://host:port/metrics or https://..."));
  }
  const std::size_t path = std::min(text.find('/', host + 3), text.size());
  if (path == host + 3) {
    return absl::InvalidArgumentError(absl::StrCat("--metrics: '", text, "' has no host"));
  }
  return Url{text.substr(0, path), path == text.size() ? "/metrics" : text.substr(path)};
}

// The host of `target`: "a" of "a:1" and "dns:a:1", "[::1]" of "ipv6:[::1]:1". Empty for a path,
// for several addresses, and for a name service's URL.
std::string_view HostOf(std::string_view target) {
  for (const std::string_view scheme : {"ipv4:", "ipv6:", "dns:"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    break;
  }
  const std::size_t bracket = target.find(']');
  const std::size_t host_end =
      std::min(target.find(':', bracket == target.npos ? 0 : bracket), target.size());
  const std::string_view port = target.substr(std::min(host_end + 1, target.size()));
  const bool is_one = target.find_first_of("/,") == target.npos &&
                      std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  return is_one ? target.substr(0, host_end) : std::string_view();
}

}  // namespace

absl::StatusOr<Url> MetricsUrl(const std::string& metrics, const std::string& server,
                               bool uses_tls) {
  if (!metrics.empty()) return ParseUrl(metrics);
  const std::string host(HostOf(server));
  if (host.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: is needed, --server ", server, " names no host"));
  }
  const char* const scheme = uses_tls ? "https" : "http";
  return ParseUrl(absl::StrCat(scheme, "://", host, ":", kDefaultMetricsPort, "/metrics"));
}

}  // namespace warpfold::client
