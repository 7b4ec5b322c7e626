#include "server/frontend/grpc_server.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/resource_quota.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "kernels/values.h"
#include "server/frontend/decode.h"
#include "server/frontend/health_service.h"
#include "server/frontend/kserve/inference_service.h"
#include "server/frontend/reflection_service.h"
#include "server/frontend/service.h"
#include "server/frontend/state_message.h"
#include "server/frontend/stream_payload.h"
#include "server/frontend/tensor_service.h"
#include "server/frontend/wire_message.h"

namespace warpfold {
namespace {

// How exactly the limits on clients are kept.
constexpr std::chrono::milliseconds kWatchdogTurn{50};

// Uploads hold no more than half of what requests may: a quarter in their places, and a quarter
// beyond them.
std::int64_t UploadBytesOf(const GrpcServerOptions& options) {
  return options.limits.max_bytes_in_flight / 4;
}

int UploadPlacesOf(const GrpcServerOptions& options) {
  const std::int64_t count = UploadBytesOf(options) / PlaceBytes(options.piece_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, 1 << 16));
}

// Once each turn of the watchdog.
Shortage TakeShortage(AdmissionController& admission) {
  OpenCalls& calls = admission.open_calls();
  const std::chrono::milliseconds lag = calls.lag().Take();
  admission.read_line().Pass(kWatchdogTurn, lag);
  admission.connections().ForgetIdle();
  const std::int64_t open = calls.count();
  const std::int64_t calls_max = calls.max();
  return {.bytes = admission.TakeMissingBytes(),
          .calls = open - (calls_max - calls_max / 4),
          .urgent_calls = open - calls_max,
          .grace = 2 * lag};
}

void FillInfo(Op op, v1::OpInfo* out) {
  const OpInfo& info = InfoOf(op);
  out->set_op(ToProto(op));
  out->set_summary(info.summary);
  out->set_refuses_empty(!info.has_empty);
  if (info.params != nullptr) out->set_params(info.params->name);
  out->set_trailing_dims(TrailingDims(op));
  for (const DType dtype : kAllDTypes) {
    v1::DTypeRule* rule = out->add_rules();
    rule->set_dtype(ToProto(dtype));
    rule->set_result(ToProto(ResultDType(op, dtype)));
    rule->set_may_be_refused(MayBeRefused(op, dtype));
  }
}

v1::GetServerInfoResponse MakeInfo(const GrpcServerOptions& options) {
  v1::GetServerInfoResponse info;
  info.set_version(options.version);
  info.set_numerics_version(kNumericsVersion);
  info.set_backend(options.backend);
  for (const DeviceInfo& device : options.devices) {
    v1::Device* out = info.add_devices();
    out->set_name(device.name);
    out->set_model(device.model);
    out->set_memory_bytes(device.memory_bytes);
  }
  for (const Op op : kAllOps) {
    info.add_ops(ToProto(op));
    FillInfo(op, info.add_op_infos());
  }
  info.add_source_roles(v1::Source::VALUES);
  for (const DType dtype : kAllDTypes) info.add_dtypes(ToProto(dtype));
  for (const ValueKind kind : kAllValueKinds) {
    v1::KindRevisions* revisions = info.add_state_revisions();
    revisions->set_kind(ToProto(kind));
    revisions->set_oldest(RevisionsOf(kind).oldest);
    revisions->set_newest(RevisionsOf(kind).newest);
  }
  return info;
}

int MaxReceiveBytes(const Limits& limits) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  return static_cast<int>(
      std::min(kMax, limits.max_message_bytes + static_cast<std::int64_t>(kHeaderBytesMax)));
}

int ToMs(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

// gRPC sets TCP_USER_TIMEOUT to the keepalive's timeout, too.
void SetConnectionLimits(const ConnectionLimits& limits, grpc::ServerBuilder& builder) {
  // A client may ask by PING whether the server is still there: once a second, whether a call of
  // its waits or not. gRPC would end the connection at the third within five minutes.
  constexpr int kClientPingMsMin = 500;
  const std::pair<const char*, int> arguments[] = {
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams_max},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, ToMs(limits.handshake_timeout)},
      {GRPC_ARG_KEEPALIVE_TIME_MS, ToMs(limits.keepalive)},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ToMs(limits.keepalive_timeout)},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kClientPingMsMin}};
  for (const auto& [name, value] : arguments) builder.AddChannelArgument(name, value);
  if (limits.idle_timeout.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ToMs(limits.idle_timeout));
  }
  if (limits.age_max.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMs(limits.age_max));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ToMs(limits.age_grace));
  }
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const GrpcServerOptions& options, CallerTable callers,
                 AdmissionController& admission, Scheduler& scheduler, TensorTable& tensors,
                 RegionTable& regions, Metrics& metrics, AccessLog& access_log)
      : limits_(options.limits),
        callers_(std::move(callers)),
        health_board_(options.health_watches_max),
        checks_(kChecksMax),
        reflection_places_(options.reflection_streams_max),
        watchdog_(kWatchdogTurn, [&admission] { return TakeShortage(admission); }),
        uploads_(UploadPlacesOf(options), UploadBytesOf(options)),
        services_{limits_,   callers_, admission,  scheduler, tensors,    regions,
                  watchdog_, metrics,  access_log, uploads_,  drain_end_, options.piece_bytes},
        reductions_(services_, MakeInfo(options)),
        tensors_(services_),
        inference_(services_, options.version, health_board_.serving()),
        health_(services_, health_board_, checks_),
        reflection_(services_, reflection_places_,
                    {kReductionService, kTensorService, kInferenceService, kReflectionService,
                     kHealthService}) {}
  ~GrpcServerImpl() override { Shutdown(std::chrono::milliseconds(0)); }

  absl::Status Listen(const GrpcServerOptions& options) {
    grpc::ServerBuilder builder;
    SetConnectionLimits(options.connections, builder);
    // Two servers on one port would share its connections silently.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // gRPC would let every stream send up to its estimate of the connection's bandwidth and delay,
    // some megabytes on a fast one, whether anybody reads it or not: a thousand streams that waited
    // for a lane filled 1.1 GB, and fill 0.1 now. Who is read from is let send the message that is
    // read, and is as fast as before (256 MiB by one and by four streams, loopback).
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    received_.Resize(ReceivedBytesMax(options.limits));
    builder.SetResourceQuota(received_);
    builder.SetMaxReceiveMessageSize(MaxReceiveBytes(options.limits));
    // gRPC would decompress a whole message before it looks at its size: a thousand times what was
    // sent, of 3 MB 3 GB.
    for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
      builder.SetCompressionAlgorithmSupportStatus(algorithm, options.takes_compressed);
    }
    builder.AddListeningPort(
        options.listen_address,
        options.tls != nullptr ? options.tls->Credentials() : grpc::InsecureServerCredentials(),
        &port_);
    builder.RegisterService(&reductions_);
    builder.RegisterService(&tensors_);
    builder.RegisterService(&inference_);
    builder.RegisterService(&health_);
    if (options.reflection_streams_max > 0) builder.RegisterService(&reflection_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(
          absl::StrCat("listen-address: cannot listen on ", options.listen_address));
    }
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  void SetLimits(const Limits& limits) override {
    limits_.Set(limits);
    received_.Resize(ReceivedBytesMax(limits));
  }
  void SetCallers(CallerTable callers) override {
    callers.KeepUse(callers_.Get());
    callers_.Set(std::move(callers));
  }
  void StartServing() override { health_board_.SetServing(true); }
  void StopServing() override { health_board_.SetServing(false); }

  void Shutdown(std::chrono::milliseconds grace) override {
    if (server_ == nullptr) return;
    const DrainEnd::Clock::time_point end = DrainEnd::Clock::now() + grace;
    drain_end_.Set(end);
    health_board_.Close();
    server_->Shutdown(end);
    server_->Wait();
    server_ = nullptr;
  }

 private:
  InForce<Limits> limits_;
  InForce<CallerTable> callers_;
  grpc::ResourceQuota received_{"received"};
  // Calls, which the watchdog may hold for longer than gRPC, give their places back to these.
  HealthBoard health_board_;
  ProbePlaces checks_;
  ReflectionPlaces reflection_places_;
  Watchdog watchdog_;
  UploadPlaces uploads_;
  DrainEnd drain_end_;
  const Services services_;
  ReductionServiceImpl reductions_;
  TensorServiceImpl tensors_;
  kserve::InferenceServiceImpl inference_;
  HealthServiceImpl health_;
  ReflectionServiceImpl reflection_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::size_t ReceivedBytesMax(const Limits& limits) {
  constexpr std::int64_t kConnectionsBytes = std::int64_t{64} << 20;
  const std::int64_t arriving =
      std::max(limits.max_bytes_in_flight,
               2 * (limits.max_message_bytes + static_cast<std::int64_t>(kHeaderBytesMax)));
  return static_cast<std::size_t>(limits.max_bytes_in_flight + arriving + kConnectionsBytes);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const GrpcServerOptions& options, CallerTable callers, AdmissionController& admission,
    Scheduler& scheduler, TensorTable& tensors, RegionTable& regions, Metrics& metrics,
    AccessLog& access_log) {
  auto server = std::make_unique<GrpcServerImpl>(options, std::move(callers), admission, scheduler,
                                                 tensors, regions, metrics, access_log);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace warpfold
