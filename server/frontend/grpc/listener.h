// One address where clients connect: a gRPC server of its own, with services of its own, so that
// each call is known to have come by it. gRPC does not tell: at every UNIX socket the peer is
// "unix:".
//
// Step of a request: 1. Start, Shutdown and destruction belong to one thread.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_LISTENER_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_LISTENER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/frontend/calls/probe_places.h"
#include "server/frontend/grpc/acceptor.h"
#include "server/frontend/grpc/tls.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/methods/health_service.h"
#include "server/frontend/methods/inference_service.h"
#include "server/frontend/methods/reflection_service.h"
#include "server/frontend/methods/service.h"
#include "server/frontend/methods/tensor_service.h"
#include "server/frontend/requests/services.h"
#include "server/system/listen_address.h"
#include "server/system/listening_socket.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

// What bounds connections, whatever their calls are.
struct ConnectionLimits {
  ConnectionsMax connections_max;  // at all addresses together
  int streams_max = 128;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds idle_timeout{0};  // 0: none
  std::chrono::milliseconds age_max{0};       // 0: none
  std::chrono::milliseconds age_grace{3'600'000};
  std::chrono::milliseconds keepalive{60'000};
  std::chrono::milliseconds keepalive_timeout{20'000};
};

// The same of every listener.
struct ListenerOptions {
  TlsCertificate* tls = nullptr;  // of those with a port; null: no TLS
  bool takes_compressed = false;
  bool has_reflection = true;
  ConnectionLimits connections;
  int message_bytes_max = 0;  // with its header
  std::string version;
  v1::GetServerInfoResponse info;  // ReductionServiceImpl's
};

// What listeners share, and each serves with. All of it outlives them.
struct ListenerParts {
  const Services& services;
  HealthBoard& health_board;
  ProbePlaces& checks;
  ReflectionPlaces& reflection_places;
  kserve::ModelCounts& model_counts;
  const grpc::ResourceQuota& received;  // messages on their way in
};

class Listener {
 public:
  // Port 0 takes any. UNAVAILABLE, naming the address: cannot listen there.
  static absl::StatusOr<std::unique_ptr<Listener>> Start(const ListenAddress& address,
                                                         const ListenerOptions& options,
                                                         const ListenerParts& parts);

  // With the port that it has.
  const ListenAddress& address() const { return socket_.address(); }

  BoundAddress bound() const { return socket_.bound(); }

  // Where its connections come in, as long as this object is not shut down.
  Acceptor::Door door();

  // Takes no new calls, lets the others end until `end`, then cancels what is left. Returns when
  // all are gone. REQUIRES: nobody accepts at its door any more.
  void Shutdown(std::chrono::system_clock::time_point end);

 private:
  Listener(const std::string& name, ListeningSocket socket, const ListenerOptions& options,
           const ListenerParts& parts);
  absl::Status StartServer(const ListenerOptions& options, const ListenerParts& parts);

  ListeningSocket socket_;
  const Services services_;  // those of its calls
  ReductionServiceImpl reductions_;
  TensorServiceImpl tensors_;
  kserve::InferenceServiceImpl inference_;
  HealthServiceImpl health_;
  ReflectionServiceImpl reflection_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_LISTENER_H_
