// The Prometheus page on its own port.
//
// Step of a request: 4, report. Serves from its own four threads until destroyed. A client that
// sends nothing, or does not read its page, holds one of them for kClientTimeout at most.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/collectable.h"
#include "prometheus/exposer.h"

namespace warpfold {

class MetricsServer {
 public:
  static constexpr std::chrono::milliseconds kClientTimeout{2000};

  // Listens on `address` ("0.0.0.0:9464"; port 0 takes any) and serves `pages` under /metrics.
  // REQUIRES: ParseHostPort takes `address`.
  // UNAVAILABLE, naming the address: cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> pages);

  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  int port() const { return port_; }

 private:
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, std::string host, int port,
                std::vector<std::shared_ptr<prometheus::Collectable>> pages)
      : pages_(std::move(pages)),
        exposer_(std::move(exposer)),
        host_(std::move(host)),
        port_(port) {}

  const std::vector<std::shared_ptr<prometheus::Collectable>> pages_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  const std::string host_;
  const int port_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_SERVER_H_
