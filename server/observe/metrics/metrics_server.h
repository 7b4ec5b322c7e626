// The Prometheus page on its own port.
//
// Step of a request: 4, report. One thread serves everybody until the object is destroyed, and
// waits for nobody: a client that sends half a request, or does not read its page, holds one of
// kConnectionsMax connections, for kClientTimeout at most. Whoever comes when all are taken gets
// the place of the oldest, so that no number of such clients keeps the next one away.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_SERVER_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/collectable.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace warpfold {

// What a client shows of itself.
struct ShownIdentity {
  std::string peer;  // "127.0.0.1:50051"
  std::vector<std::string> certificate_names;
  std::optional<std::string> authorization;  // the header's value
};

enum class PageAccess { kGranted, kUnauthenticated, kForbidden };

struct MetricsServerOptions {
  std::string address;  // "127.0.0.1:9464"; port 0 takes any
  // Asked at each connection; null: no TLS.
  std::function<std::shared_ptr<ssl_ctx_st>()> tls_context = nullptr;
  // Whether a client may read the page; null: everyone may.
  std::function<PageAccess(const ShownIdentity&)> access = nullptr;
};

class MetricsServer {
 public:
  static constexpr std::chrono::milliseconds kClientTimeout{5000};  // from its connection on
  static constexpr std::size_t kConnectionsMax = 64;
  static constexpr std::size_t kRequestBytesMax = 8192;

  // Listens, and serves `pages` under /metrics. REQUIRES: ParseHostPort takes the address.
  // UNAVAILABLE, naming the address: cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      MetricsServerOptions options, std::vector<std::shared_ptr<prometheus::Collectable>> pages);

  virtual ~MetricsServer() = default;

  virtual int port() const = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_METRICS_SERVER_H_
