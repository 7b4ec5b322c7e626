// The gRPC server: our services, the Open Inference Protocol's, health checking and reflection, at
// one address or more.
//
// Step of a request: 1. Start, Shutdown and destruction belong to one thread.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_SERVER_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/admission/admission.h"
#include "server/core/admission/caller_table.h"
#include "server/core/base/limits.h"
#include "server/core/regions/region_table.h"
#include "server/core/scheduling/scheduler.h"
#include "server/core/tensors/tensor_table.h"
#include "server/device/executor.h"
#include "server/frontend/grpc/acceptor.h"
#include "server/frontend/grpc/listener.h"
#include "server/frontend/grpc/tls.h"
#include "server/observe/log/access_log.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/span_sink.h"
#include "server/system/listen_address.h"

namespace warpfold {

// Received messages that gRPC may hold for all connections: those of admitted requests, as much
// again of those on their way in, which nobody has admitted yet, and what connections take beside.
// Above it gRPC ends some of the calls that are being received.
std::size_t ReceivedBytesMax(const Limits& limits);

struct GrpcServerOptions {
  std::vector<ListenAddress> listen;  // one or more; port 0 takes any
  TlsCertificate* tls = nullptr;      // of those with a port; outlives the server; null: no TLS
  bool takes_compressed = false;      // messages, whose memory is bounded by nothing then
  ConnectionLimits connections;
  int health_watches_max = 1024;
  int reflection_streams_max = 16;                     // 0: no reflection
  std::int64_t segment_bytes = std::int64_t{4} << 20;  // of a stream, before it waits for a worker
  Limits limits;
  std::string version;
  std::string backend;
  std::vector<DeviceInfo> devices;
  SpanSink* spans = nullptr;  // outlives the server; null: nobody takes spans
  OnConnectionRefused on_connection_refused;
};

// Who may call.
struct Admitted {
  CallerTable callers;
  std::vector<std::string> security_warnings;  // that GetServerInfo says
};

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;

  // Listens, at all addresses or none; health (health_service.h) says SERVING for "liveness" and,
  // until StartServing, NOT_SERVING for the other names. `admission`, `scheduler`, `tensors`,
  // `regions`, `metrics` and `access_log` must outlive the server. UNAVAILABLE, naming the address:
  // cannot listen there.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const GrpcServerOptions& options, Admitted admitted, AdmissionController& admission,
      Scheduler& scheduler, TensorTable& tensors, RegionTable& regions, Metrics& metrics,
      AccessLog& access_log);

  // Where it listens, with the ports that it has.
  virtual std::vector<ListenAddress> addresses() const = 0;
  int port() const { return FirstPort(addresses()); }

  virtual std::vector<BoundAddress> bound() const = 0;
  // The connections at all of them.
  virtual Acceptor& acceptor() = 0;

  // For requests that come from now on. max_message_bytes stays as it was at the start: gRPC has
  // it.
  virtual void SetLimits(const Limits& limits) = 0;

  // Those in force. Valid as long as this object.
  virtual const CallerTable& callers() const = 0;

  // For calls that begin from now on; streams that have begun go on.
  virtual void SetAdmitted(Admitted admitted) = 0;

  // All names are SERVING from now on.
  virtual void StartServing() = 0;

  // All names but "liveness" are NOT_SERVING, to everyone who asks or watches; calls are still
  // served.
  virtual void StopServing() = 0;

  // Takes no new calls, ends those that watch health, lets the others end for `grace`, then cancels
  // what is left. Returns when all are gone.
  virtual void Shutdown(std::chrono::milliseconds grace) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_SERVER_H_
