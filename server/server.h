// The composition root: makes the parts in the order in which a request needs them last, and takes
// them down in reverse.
//
// Start, Drain and destruction belong to one thread.
#ifndef WARPFOLD_SERVER_SERVER_H_
#define WARPFOLD_SERVER_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/core/admission.h"
#include "server/core/scheduler.h"
#include "server/device/backend.h"
#include "server/frontend/grpc_server.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/metrics_server.h"

namespace warpfold {

class Server {
 public:
  // Opens the devices, listens and serves. `log` must outlive the server. Errors name what could
  // not be had: a device, an address, the port file.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Log& log);

  // Health says NOT_SERVING, nothing new is admitted, and what was accepted gets
  // config.drain_timeout_ms to end. Then all is cancelled that is left. Returns when no request
  // runs.
  void Drain();

  int grpc_port() const { return grpc_->port(); }
  int metrics_port() const { return metrics_server_ != nullptr ? metrics_server_->port() : 0; }

 private:
  Server(const Config& config, Log& log, Devices devices);
  absl::Status StartParts();
  absl::Status WritePortFile() const;

  const Config config_;
  Log& log_;
  Devices devices_;
  AdmissionController admission_;
  Metrics metrics_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<MetricsServer> metrics_server_;
  std::unique_ptr<GrpcServer> grpc_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SERVER_H_
