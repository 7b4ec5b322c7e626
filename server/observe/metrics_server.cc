#include "server/observe/metrics_server.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold {

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> pages) {
  std::unique_ptr<prometheus::Exposer> exposer;
  try {
    exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", "4",
                                 "request_timeout_ms", absl::StrCat(kClientTimeout.count())});
  } catch (const std::exception& error) {  // civetweb's only way to say that it cannot bind
    return absl::UnavailableError(
        absl::StrCat("metrics-address: cannot listen on ", address, ": ", error.what()));
  }
  for (const std::shared_ptr<prometheus::Collectable>& page : pages) {
    exposer->RegisterCollectable(page);
  }
  const std::vector<int> ports = exposer->GetListeningPorts();
  const int port = ports.empty() ? 0 : ports.front();
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(std::move(exposer), port, std::move(pages)));
}

}  // namespace warpfold
