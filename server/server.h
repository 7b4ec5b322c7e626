// The composition root: makes the parts in the order in which a request needs them last, and takes
// them down in reverse.
//
// Start, Drain and destruction belong to one thread.
#ifndef WARPFOLD_SERVER_SERVER_H_
#define WARPFOLD_SERVER_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/connection_log.h"
#include "server/core/admission/admission.h"
#include "server/core/regions/region_table.h"
#include "server/core/scheduling/scheduler.h"
#include "server/core/tensors/tensor_sweeper.h"
#include "server/core/tensors/tensor_table.h"
#include "server/device/backend/backend.h"
#include "server/frontend/grpc/grpc_server.h"
#include "server/frontend/grpc/tls.h"
#include "server/memory_limit.h"
#include "server/memory_plan.h"
#include "server/memory_watch.h"
#include "server/observe/log/access_log.h"
#include "server/observe/log/log.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/metrics/metrics_server.h"
#include "server/observe/trace/span_sink.h"
#include "server/page_access.h"
#include "server/self_probe.h"

namespace warpfold {

class Server {
 public:
  // Told, by any thread, that to serve on is no use: no device is left, or new clients have not
  // reached the server for config.exit_when_unready_ms.
  using OnUseless = std::function<void()>;

  // Opens the devices and listens: the process is live, and not ready. `log` must outlive the
  // server. Errors name what could not be had: a device, an address.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Log& log,
                                                       OnUseless on_useless);
  // The same with devices that are open already.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Log& log,
                                                       OnUseless on_useless, Devices devices);

  // Loads the kernels onto the devices, asks each the known questions (startup.h) and serves from
  // then on. Waits: seconds, or minutes where the driver compiles. `stop_requested` is asked on
  // this thread while it does. CANCELLED: it returned true. Errors name what could not be had: a
  // device's kernels, its right answers, the port file. On any error but the last nobody was
  // served.
  absl::Status MakeReady(const std::function<bool()>& stop_requested = {});

  // Takes what `next` changes in limits, log level and times, and reads the certificates again;
  // says in the log what needs a restart. When `next` is an error, or a certificate does not fit,
  // all stays as it was. Logged and counted.
  void Reload(const absl::StatusOr<Config>& next);

  // Health says NOT_SERVING; all is served on. For the time that load balancers need to see it.
  void StopServing();

  // Nothing new is admitted, and what was accepted gets config.drain_timeout_ms to end. Then all is
  // cancelled that is left. Connections end as drain_connections.h says. Returns when no request
  // runs.
  void Drain();

  bool has_device() const;
  // New clients have not reached it for config.exit_when_unready_ms.
  bool is_deaf() const { return is_deaf_; }
  const Config& config() const { return config_; }
  // Of the first address that has one; 0: there are UNIX sockets alone.
  int grpc_port() const { return grpc_->port(); }
  int metrics_port() const { return metrics_server_ != nullptr ? metrics_server_->port() : 0; }

 private:
  Server(const Config& config, Log& log, OnUseless on_useless, Devices devices);
  absl::Status StartParts();
  MemoryPlan PlanOf(const Config& config) const;
  void TakeMemoryBudget();
  void StartMemoryWatch();
  absl::Status StartScheduler();
  absl::Status StartMetrics();
  absl::Status LoadTls();
  Admitted Admit(CallerTable callers) const;
  absl::Status StartGrpc(CallerTable callers);
  std::string ListenText() const;
  void TakeLimits();
  absl::Status StartSelfProbe();
  void OnSelfProbe(const absl::Status& probed, const Reach& reach,
                   std::chrono::milliseconds patience);
  void OnDeviceLost(const DeviceInfo& device, const absl::Status& why);

  Config config_;  // the owner's thread alone
  Log& log_;
  const MemoryLimit memory_limit_ = ReadMemoryLimit();
  const OnUseless on_useless_;
  Devices devices_;
  std::atomic<int> devices_left_;
  std::atomic<bool> starting_{true};  // until MakeReady has succeeded
  std::atomic<bool> ready_{false};
  std::atomic<bool> reachable_{true};
  std::atomic<bool> is_deaf_{false};
  std::atomic<std::int64_t> self_probes_{0};
  std::atomic<std::int64_t> self_probe_failures_{0};
  AdmissionController admission_;
  TensorTable tensors_;
  TensorSweeper tensor_sweeper_;
  RegionTable regions_;
  Metrics metrics_;
  AccessLog access_log_;
  PageGuard page_guard_;
  ConnectionLog connection_log_;
  std::unique_ptr<MemoryWatch> memory_watch_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<TlsCertificate> tls_;  // null: no TLS
  std::unique_ptr<SpanSink> spans_;      // null: nobody takes spans
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<MetricsServer> metrics_server_;  // asks grpc_ who may read it
  std::unique_ptr<SelfProbe> self_probe_;          // while it says that it is ready
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SERVER_H_
