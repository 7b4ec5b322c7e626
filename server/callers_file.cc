#include "server/callers_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/regular_file.h"

namespace warpfold {
namespace {

// Of those of the gRPC service that other hosts reach.
std::vector<std::string> OpenAddresses(const Config& config) {
  std::vector<std::string> names;
  for (const ListenAddress& address : config.listen_addresses()) {
    if (!address.is_local()) names.push_back(ToString(address));
  }
  return names;
}

// Other hosts reach the metrics page.
bool MetricsAreOpen(const Config& config) {
  return config.serves_metrics() && !ParseHostPort(config.metrics_address)->is_loopback();
}

// Of those to which other hosts send tokens without TLS.
std::vector<std::string> ClearAddresses(const Config& config) {
  std::vector<std::string> names;
  if (!config.uses_tls()) names = OpenAddresses(config);
  const bool metrics_take_tokens = config.metrics_auth == Switch::kOn && MetricsAreOpen(config);
  if (metrics_take_tokens && config.metrics_tls == Switch::kOff) {
    names.push_back(config.metrics_address);
  }
  return names;
}

}  // namespace

absl::StatusOr<CallerTable> ReadCallers(const std::string& path,
                                        const std::vector<ListenAddress>& addresses) {
  if (path.empty()) return CallerTable();
  const absl::StatusOr<std::string> text = ReadRegularFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("callers-file: ", text.status().message()));
  }
  absl::StatusOr<CallerTable> callers = CallerTable::Parse(*text, NamesOf(addresses));
  if (callers.ok()) return callers;
  return absl::InvalidArgumentError(
      absl::StrCat("callers-file: ", path, ": ", callers.status().message()));
}

bool CertificatesAreNotAsked(const Config& config, const CallerTable& callers) {
  return callers.has_certificates() && config.tls_client_ca.empty();
}

bool TokensComeInTheClear(const Config& config, const CallerTable& callers) {
  return callers.has_tokens() && !ClearAddresses(config).empty();
}

std::vector<std::string> SecurityWarnings(const Config& config, const CallerTable& callers) {
  std::vector<std::string> warnings;
  const std::vector<std::string> open = OpenAddresses(config);
  if (callers.asks_nobody() && !open.empty() && config.tls_client_ca.empty()) {
    warnings.push_back(
        absl::StrCat("everyone who reaches ", absl::StrJoin(open, ", "),
                     " may call: neither --callers-file nor --tls-client-ca is given"));
  }
  if (CertificatesAreNotAsked(config, callers)) {
    warnings.push_back(
        "callers have certificates that nobody asks for: --tls-client-ca is not given");
  }
  if (TokensComeInTheClear(config, callers)) {
    warnings.push_back(absl::StrCat("tokens come in the clear at ",
                                    absl::StrJoin(ClearAddresses(config), ", "),
                                    ": --tls-cert or --metrics-tls is not given"));
  }
  if (MetricsAreOpen(config) && config.metrics_auth == Switch::kOff) {
    warnings.push_back(absl::StrCat("everyone who reaches ", config.metrics_address,
                                    " may read the metrics: --metrics-auth is off"));
  }
  return warnings;
}

void SayWhoMayCall(const Config& config, const CallerTable& callers, Log& log) {
  if (!callers.asks_nobody()) {
    log.Write(LogLevel::kInfo, "callers",
              {{"file", config.callers_file}, {"callers", static_cast<int>(callers.count())}});
  }
  for (const std::string& warning : SecurityWarnings(config, callers)) {
    log.Write(LogLevel::kWarning, warning);
  }
}

}  // namespace warpfold
