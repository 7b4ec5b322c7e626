#include "server/frontend/grpc/listener.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"

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

Listener::Listener(const std::string& name, ListeningSocket socket, const ListenerOptions& options,
                   const ListenerParts& parts)
    : socket_(std::move(socket)),
      services_(WithListener(parts.services, name)),
      reductions_(services_, options.info),
      tensors_(services_),
      inference_(services_, options.version, parts.health_board.serving(), parts.model_counts),
      health_(services_, parts.health_board, parts.checks),
      reflection_(services_, parts.reflection_places,
                  {kReductionService, kTensorService, kInferenceService, kReflectionService,
                   kHealthService}) {}

absl::Status Listener::StartServer(const ListenerOptions& options, const ListenerParts& parts) {
  grpc::ServerBuilder builder;
  SetConnectionLimits(options.connections, builder);
  SetMessageLimits(options, builder);
  builder.SetResourceQuota(parts.received);
  const bool uses_tls = options.tls != nullptr && address().tcp() != nullptr;
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      uses_tls ? options.tls->Credentials() : grpc::InsecureServerCredentials());
  builder.RegisterService(&reductions_);
  builder.RegisterService(&tensors_);
  builder.RegisterService(&inference_);
  builder.RegisterService(&health_);
  if (options.has_reflection) builder.RegisterService(&reflection_);
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("listen-address: gRPC does not start for ", ToString(address())));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(const ListenAddress& address,
                                                          const ListenerOptions& options,
                                                          const ListenerParts& parts) {
  absl::StatusOr<ListeningSocket> socket = ListeningSocket::Open(address);
  if (!socket.ok()) return socket.status();
  std::unique_ptr<Listener> listener(
      new Listener(ToString(address), *std::move(socket), options, parts));
  if (absl::Status status = listener->StartServer(options, parts); !status.ok()) return status;
  return listener;
}

Acceptor::Door Listener::door() {
  return {.listeners = socket_.descriptors(), .hand_over = [this](int socket, int connection) {
            grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
            accepted.listener_fd = socket;
            accepted.fd = connection;
            connections_->HandleNewConnection(&accepted);
          }};
}

void Listener::Shutdown(std::chrono::system_clock::time_point end) {
  socket_.Close();
  server_->Shutdown(end);
  server_->Wait();
}

}  // namespace warpfold
