#include "server/frontend/grpc/grpc_server.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/resource_quota.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "kernels/values.h"
#include "server/frontend/calls/stream_payload.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/methods/health_service.h"
#include "server/frontend/methods/reflection_service.h"
#include "server/frontend/native/decode.h"
#include "server/frontend/native/state_message.h"
#include "server/frontend/wire/wire_message.h"

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
  const std::int64_t count = UploadBytesOf(options) / PlaceBytes(options.segment_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, 1 << 16));
}

// Once each turn of the watchdog.
Shortage TakeShortage(AdmissionController& admission) {
  OpenCalls& calls = admission.open_calls();
  const std::chrono::milliseconds lag = calls.lag().Take();
  admission.read_line().Pass(kWatchdogTurn, lag);
  admission.item_line().Pass(kWatchdogTurn, lag);
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

ListenerOptions ListenerOptionsOf(const GrpcServerOptions& options) {
  return {.tls = options.tls,
          .takes_compressed = options.takes_compressed,
          .has_reflection = options.reflection_streams_max > 0,
          .connections = options.connections,
          .message_bytes_max = MaxReceiveBytes(options.limits),
          .version = options.version,
          .info = MakeInfo(options)};
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const GrpcServerOptions& options, Admitted admitted,
                 AdmissionController& admission, Scheduler& scheduler, TensorTable& tensors,
                 RegionTable& regions, Metrics& metrics, AccessLog& access_log)
      : limits_(options.limits),
        callers_(std::move(admitted.callers)),
        security_warnings_(std::move(admitted.security_warnings)),
        health_board_(options.health_watches_max),
        checks_(kChecksMax),
        reflection_places_(options.reflection_streams_max),
        watchdog_(kWatchdogTurn, [&admission] { return TakeShortage(admission); }),
        uploads_(UploadPlacesOf(options), UploadBytesOf(options)),
        services_{.limits = limits_,
                  .callers = callers_,
                  .security_warnings = security_warnings_,
                  .admission = admission,
                  .scheduler = scheduler.submitter(),
                  .tensors = tensors,
                  .regions = regions,
                  .watchdog = watchdog_,
                  .metrics = metrics,
                  .access_log = access_log,
                  .uploads = uploads_,
                  .drain_end = drain_end_,
                  .segment_bytes = options.segment_bytes,
                  .spans = options.spans} {
    received_.Resize(ReceivedBytesMax(options.limits));
  }
  ~GrpcServerImpl() override { Shutdown(std::chrono::milliseconds(0)); }

  absl::Status Listen(const GrpcServerOptions& options) {
    const ListenerOptions of_each = ListenerOptionsOf(options);
    const ListenerParts parts{.services = services_,
                              .health_board = health_board_,
                              .checks = checks_,
                              .reflection_places = reflection_places_,
                              .model_counts = model_counts_,
                              .received = received_};
    for (const ListenAddress& address : options.listen) {
      absl::StatusOr<std::unique_ptr<Listener>> listener = Listener::Start(address, of_each, parts);
      if (!listener.ok()) return listener.status();
      listeners_.push_back(*std::move(listener));
    }
    return StartAcceptor(options);
  }

  std::vector<ListenAddress> addresses() const override {
    std::vector<ListenAddress> addresses;
    for (const auto& listener : listeners_) addresses.push_back(listener->address());
    return addresses;
  }
  std::vector<BoundAddress> bound() const override {
    std::vector<BoundAddress> bound;
    for (const auto& listener : listeners_) bound.push_back(listener->bound());
    return bound;
  }
  Acceptor& acceptor() override { return *acceptor_; }
  void SetLimits(const Limits& limits) override {
    limits_.Set(limits);
    received_.Resize(ReceivedBytesMax(limits));
  }
  const CallerTable& callers() const override { return callers_.Get(); }
  void SetAdmitted(Admitted admitted) override {
    admitted.callers.KeepUse(callers_.Get());
    callers_.Set(std::move(admitted.callers));
    security_warnings_.Set(std::move(admitted.security_warnings));
  }
  void StartServing() override { health_board_.SetServing(true); }
  void StopServing() override { health_board_.SetServing(false); }

  void Shutdown(std::chrono::milliseconds grace) override {
    if (is_shut_down_) return;
    is_shut_down_ = true;
    const DrainEnd::Clock::time_point end = DrainEnd::Clock::now() + grace;
    drain_end_.Set(end);
    health_board_.Close();
    if (acceptor_ != nullptr) acceptor_->StopAccepting();
    std::vector<std::jthread> at_once;
    for (const auto& listener : listeners_) {
      at_once.emplace_back([&listener, end] { listener->Shutdown(end); });
    }
  }

 private:
  absl::Status StartAcceptor(const GrpcServerOptions& options) {
    std::vector<Acceptor::Door> doors;
    for (const auto& listener : listeners_) doors.push_back(listener->door());
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
        Acceptor::Start({.connections_max = options.connections.connections_max,
                         .user_timeout = options.connections.keepalive_timeout,
                         .on_refused = options.on_connection_refused},
                        std::move(doors));
    if (!acceptor.ok()) return acceptor.status();
    acceptor_ = *std::move(acceptor);
    return absl::OkStatus();
  }

  InForce<Limits> limits_;
  InForce<CallerTable> callers_;
  InForce<std::vector<std::string>> security_warnings_;
  grpc::ResourceQuota received_{"received"};
  // Calls, which the watchdog may hold for longer than gRPC, give their places back to these.
  HealthBoard health_board_;
  ProbePlaces checks_;
  ReflectionPlaces reflection_places_;
  Watchdog watchdog_;
  UploadPlaces uploads_;
  DrainEnd drain_end_;
  kserve::ModelCounts model_counts_;
  const Services services_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<Acceptor> acceptor_;
  bool is_shut_down_ = false;
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
    const GrpcServerOptions& options, Admitted admitted, AdmissionController& admission,
    Scheduler& scheduler, TensorTable& tensors, RegionTable& regions, Metrics& metrics,
    AccessLog& access_log) {
  auto server = std::make_unique<GrpcServerImpl>(options, std::move(admitted), admission, scheduler,
                                                 tensors, regions, metrics, access_log);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace warpfold
