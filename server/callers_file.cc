#include "server/callers_file.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/option_text.h"
#include "server/system/regular_file.h"

namespace warpfold {
namespace {

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

void AddOpen(const std::vector<std::string>& addresses, const CallerTable& callers,
             std::vector<std::string>& warnings) {
  for (const std::string& address : addresses) {
    const Caller* caller = ServedWithoutAWord(callers, address);
    if (caller == nullptr) continue;
    warnings.push_back(absl::StrCat("everyone who reaches ", address, " may call: ", As(*caller)));
  }
}

void AddOpenMetrics(const Config& config, const CallerTable& callers,
                    std::vector<std::string>& warnings) {
  const bool asks = config.metrics_auth == Switch::kOn;
  const Caller* anonymous = callers.anonymous();
  if (asks && (anonymous == nullptr || !anonymous->scopes.Has(Scope::kMetrics))) return;
  warnings.push_back(
      absl::StrCat("everyone who reaches ", config.metrics_address,
                   " may read the metrics: ", asks ? As(*anonymous) : "--metrics-auth is off"));
}

// A line of the log is read by people.
std::string FirstOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 16;
  if (names.size() <= kMost) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMost, ", "), " and ",
                      names.size() - kMost, " more");
}

}  // namespace

absl::StatusOr<CallerTable> ReadCallers(const std::string& path,
                                        const std::vector<ListenAddress>& addresses) {
  if (path.empty()) return CallerTable();
  const absl::StatusOr<std::string> text = ReadRegularFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("callers-file: ", text.status().message()));
  }
  absl::StatusOr<CallerTable> callers = CallerTable::Parse(*text, NamesOf(addresses), ReadSize);
  if (callers.ok()) return callers;
  return absl::InvalidArgumentError(
      absl::StrCat("callers-file: ", path, ": ", callers.status().message()));
}

std::vector<std::string> OpenAddresses(const Config& config) {
  std::vector<std::string> open;
  for (const ListenAddress& address : config.listen_addresses()) {
    if (!address.is_local()) open.push_back(ToString(address));
  }
  return open;
}

std::vector<std::string> SecurityWarnings(const Config& config, const CallerTable& callers) {
  std::vector<std::string> warnings;
  // Made once, as names are asked of the system.
  const std::vector<std::string> open = OpenAddresses(config);
  const bool metrics_are_open =
      config.serves_metrics() && !ParseHostPort(config.metrics_address)->is_loopback();
  const bool metrics_take_tokens =
      config.metrics_auth == Switch::kOn && config.metrics_tls == Switch::kOff;
  if (config.tls_client_ca.empty()) AddOpen(open, callers, warnings);
  if (callers.has_certificates() && config.tls_client_ca.empty()) {
    warnings.push_back(
        "callers have certificates that nobody asks for: --tls-client-ca is not given");
  }
  if (callers.has_tokens() && !open.empty() && !config.uses_tls()) {
    warnings.push_back(absl::StrCat("tokens come in the clear at ", absl::StrJoin(open, ", "),
                                    ": --tls-cert is not given"));
  }
  if (callers.has_tokens() && metrics_are_open && metrics_take_tokens) {
    warnings.push_back(absl::StrCat("tokens come in the clear at ", config.metrics_address,
                                    ", for the metrics: --metrics-tls is off"));
  }
  const bool metrics_ask_for_certificates =
      config.metrics_tls == Switch::kOn && !config.tls_client_ca.empty();
  if (metrics_are_open && !metrics_ask_for_certificates) {
    AddOpenMetrics(config, callers, warnings);
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

void SayWhoChanged(const CallerChanges& changes, Log& log) {
  if (changes.empty()) return;
  log.Write(LogLevel::kInfo, "callers changed",
            {{"added", FirstOf(changes.added)},
             {"removed", FirstOf(changes.removed)},
             {"changed", FirstOf(changes.changed)}});
}

}  // namespace warpfold
