#include "server/callers_file.h"

#include "absl/strings/str_cat.h"
#include "server/host_port.h"
#include "server/regular_file.h"

namespace warpfold {
namespace {

bool IsForThisHostAlone(const Config& config) {
  return ParseHostPort(config.listen_address)->is_loopback();
}

}  // namespace

absl::StatusOr<CallerTable> ReadCallers(const std::string& path) {
  if (path.empty()) return CallerTable();
  const absl::StatusOr<std::string> text = ReadRegularFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("callers-file: ", text.status().message()));
  }
  absl::StatusOr<CallerTable> callers = CallerTable::Parse(*text);
  if (callers.ok()) return callers;
  return absl::InvalidArgumentError(
      absl::StrCat("callers-file: ", path, ": ", callers.status().message()));
}

bool CertificatesAreNotAsked(const Config& config, const CallerTable& callers) {
  return callers.has_certificates() && config.tls_client_ca.empty();
}

bool TokensComeInTheClear(const Config& config, const CallerTable& callers) {
  return callers.has_tokens() && !config.uses_tls() && !IsForThisHostAlone(config);
}

void SayWhoMayCall(const Config& config, const CallerTable& callers, Log& log) {
  if (callers.asks_nobody()) {
    if (IsForThisHostAlone(config) || !config.tls_client_ca.empty()) return;
    log.Write(LogLevel::kWarning,
              "everyone who reaches the port may call: neither --callers-file nor --tls-client-ca "
              "is given",
              {{"listen_address", config.listen_address}});
    return;
  }
  log.Write(LogLevel::kInfo, "callers",
            {{"file", config.callers_file}, {"callers", static_cast<int>(callers.count())}});
  if (CertificatesAreNotAsked(config, callers)) {
    log.Write(LogLevel::kWarning,
              "callers have certificates that nobody asks for: --tls-client-ca is not given");
  }
  if (TokensComeInTheClear(config, callers)) {
    log.Write(LogLevel::kWarning, "tokens come in the clear: --tls-cert is not given",
              {{"listen_address", config.listen_address}});
  }
}

}  // namespace warpfold
