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

// Other hosts send tokens to the metrics page without TLS.
bool MetricsTakeTokensInTheClear(const Config& config) {
  return MetricsAreOpen(config) && config.metrics_auth == Switch::kOn &&
         config.metrics_tls == Switch::kOff;
}

// Whoever shows nothing and comes by this open address, and is served; null: nobody.
const Caller* ServedWithoutAWord(const CallerTable& callers, const std::string& address) {
  if (callers.asks_nobody()) return &Everyone();
  const Caller* by_listener = callers.OfListener(address);
  return by_listener != nullptr ? by_listener : callers.anonymous();
}

std::string As(const Caller& caller) {
  return caller.name.empty() ? "neither --callers-file nor --tls-client-ca is given"
                             : absl::StrCat("as '", caller.name, "' of --callers-file");
}

void AddOpen(const Config& config, const CallerTable& callers, std::vector<std::string>& warnings) {
  if (!config.tls_client_ca.empty()) return;
  for (const std::string& address : OpenAddresses(config)) {
    const Caller* caller = ServedWithoutAWord(callers, address);
    if (caller == nullptr) continue;
    warnings.push_back(absl::StrCat("everyone who reaches ", address, " may call: ", As(*caller)));
  }
}

void AddOpenMetrics(const Config& config, const CallerTable& callers,
                    std::vector<std::string>& warnings) {
  if (!MetricsAreOpen(config)) return;
  const bool asks = config.metrics_auth == Switch::kOn;
  const Caller* anonymous = callers.anonymous();
  if (asks && (anonymous == nullptr || !anonymous->scopes.Has(Scope::kMetrics))) return;
  warnings.push_back(
      absl::StrCat("everyone who reaches ", config.metrics_address,
                   " may read the metrics: ", asks ? As(*anonymous) : "--metrics-auth is off"));
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
  return callers.has_tokens() && ((!config.uses_tls() && !OpenAddresses(config).empty()) ||
                                  MetricsTakeTokensInTheClear(config));
}

std::vector<std::string> SecurityWarnings(const Config& config, const CallerTable& callers) {
  std::vector<std::string> warnings;
  AddOpen(config, callers, warnings);
  if (CertificatesAreNotAsked(config, callers)) {
    warnings.push_back(
        "callers have certificates that nobody asks for: --tls-client-ca is not given");
  }
  const std::vector<std::string> open = OpenAddresses(config);
  if (callers.has_tokens() && !config.uses_tls() && !open.empty()) {
    warnings.push_back(absl::StrCat("tokens come in the clear at ", absl::StrJoin(open, ", "),
                                    ": --tls-cert is not given"));
  }
  if (callers.has_tokens() && MetricsTakeTokensInTheClear(config)) {
    warnings.push_back(absl::StrCat("tokens come in the clear at ", config.metrics_address,
                                    ", for the metrics: --metrics-tls is off"));
  }
  AddOpenMetrics(config, callers, warnings);
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
