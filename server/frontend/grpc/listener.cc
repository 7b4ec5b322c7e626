#include "server/frontend/grpc/listener.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "server/frontend/wire/grpc_compat.h"
#include "server/system/socket_file.h"

namespace warpfold {
namespace {

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
  if (limits.connections_max > 0) SetConnectionsMax(limits.connections_max, builder);
  if (limits.idle_timeout.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ToMs(limits.idle_timeout));
  }
  if (limits.age_max.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMs(limits.age_max));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ToMs(limits.age_grace));
  }
}

void SetMessageLimits(const ListenerOptions& options, grpc::ServerBuilder& builder) {
  // gRPC would let every stream send up to its estimate of the connection's bandwidth and delay,
  // some megabytes on a fast one, whether anybody reads it or not: a thousand streams that waited
  // for a worker filled 1.1 GB, and fill 0.1 now. Who is read from is let send the message that is
  // read, and is as fast as before (256 MiB by one and by four streams, loopback).
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(options.message_bytes_max);
  // gRPC would decompress a whole message before it looks at its size: a thousand times what was
  // sent, of 3 MB 3 GB.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, options.takes_compressed);
  }
}

Services WithListener(Services services, std::string name) {
  services.listener = std::move(name);
  return services;
}

}  // namespace

Listener::Listener(const ListenAddress& address, const ListenerOptions& options,
                   const ListenerParts& parts)
    : address_(address),
      services_(WithListener(parts.services, ToString(address))),
      reductions_(services_, options.info),
      tensors_(services_),
      inference_(services_, options.version, parts.health_board.serving(), parts.model_counts),
      health_(services_, parts.health_board, parts.checks),
      reflection_(services_, parts.reflection_places,
                  {kReductionService, kTensorService, kInferenceService, kReflectionService,
                   kHealthService}) {}

Listener::~Listener() {
  if (file_.has_value()) file_->Remove();
}

absl::Status Listener::Listen(const ListenerOptions& options, const ListenerParts& parts) {
  grpc::ServerBuilder builder;
  SetConnectionLimits(options.connections, builder);
  SetMessageLimits(options, builder);
  // Two servers on one port would share its connections silently.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetResourceQuota(parts.received);
  HostPort* tcp = std::get_if<HostPort>(&address_.at);
  if (UnixSocket* socket = std::get_if<UnixSocket>(&address_.at); socket != nullptr) {
    absl::StatusOr<SocketFile> file = SocketFile::InItsFolder(*socket);
    if (!file.ok()) return file.status();
    file_.emplace(*std::move(file));
    socket->made_as = file_->name();
  }
  const bool uses_tls = options.tls != nullptr && tcp != nullptr;
  int port = 0;  // 1 of a UNIX socket
  builder.AddListeningPort(
      file_.has_value() ? absl::StrCat("unix:", file_->name()) : ToString(address_),
      uses_tls ? options.tls->Credentials() : grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&reductions_);
  builder.RegisterService(&tensors_);
  builder.RegisterService(&inference_);
  builder.RegisterService(&health_);
  if (options.has_reflection) builder.RegisterService(&reflection_);
  {
    std::optional<UnopenedSocketFiles> until_access_is_set;
    if (tcp == nullptr) until_access_is_set.emplace();
    server_ = builder.BuildAndStart();
  }
  if (server_ == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("listen-address: cannot listen on ", ToString(address_)));
  }
  if (tcp != nullptr) {
    tcp->port = port;
    return absl::OkStatus();
  }
  return file_->Take();
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(const ListenAddress& address,
                                                          const ListenerOptions& options,
                                                          const ListenerParts& parts) {
  std::unique_ptr<Listener> listener(new Listener(address, options, parts));
  if (absl::Status status = listener->Listen(options, parts); !status.ok()) return status;
  return listener;
}

void Listener::Shutdown(std::chrono::system_clock::time_point end) {
  if (file_.has_value()) file_->Remove();
  server_->Shutdown(end);
  server_->Wait();
}

}  // namespace warpfold
