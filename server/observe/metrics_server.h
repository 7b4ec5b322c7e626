// The Prometheus page on its own port.
//
// Step of a request: 4, report. One thread serves everybody until the object is destroyed, and
// waits for nobody: a client that sends half a request, or does not read its page, holds one of
// kConnectionsMax connections, for kClientTimeout at most. Whoever comes when all are taken gets
// the place of the oldest, so that no number of such clients keeps the next one away.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/collectable.h"

namespace warpfold {

class MetricsServer {
 public:
  static constexpr std::chrono::milliseconds kClientTimeout{5000};  // from its connection on
  static constexpr std::size_t kConnectionsMax = 64;
  static constexpr std::size_t kRequestBytesMax = 8192;

  // Listens on `address` ("127.0.0.1:9464"; port 0 takes any) and serves `pages` under /metrics.
  // REQUIRES: ParseHostPort takes `address`.
  // UNAVAILABLE, naming the address: cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> pages);

  virtual ~MetricsServer() = default;

  virtual int port() const = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_
