// Where `warpfold watch` reads a server's metrics.
//
// Thread safety: pure functions. Failure: INVALID_ARGUMENT, naming --metrics.
#ifndef WARPFOLD_CLIENT_CPP_CLI_METRICS_URL_H_
#define WARPFOLD_CLIENT_CPP_CLI_METRICS_URL_H_

#include <string>

#include "absl/status/statusor.h"

namespace warpfold::client {

struct Url {
  std::string origin;  // "http://host:port", or "https://..."
  std::string path;
  std::string text() const { return origin + path; }
};

// `metrics`, which may be without a path; empty: the usual port of `server`, a gRPC target that has
// to name one host, by TLS if `uses_tls`.
absl::StatusOr<Url> MetricsUrl(const std::string& metrics, const std::string& server,
                               bool uses_tls);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_METRICS_URL_H_
