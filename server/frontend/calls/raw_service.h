// A gRPC service whose methods, unary ones too, begin when their metadata are here and see messages
// as the bytes that came.
//
// gRPC 1.51 calls a unary method's handler only when the whole request is here: until then nobody
// could let go of a client that never sends the rest, nor refuse what is no message. On the wire
// the methods are what the proto says.
//
// Step of a request: 1. Who may not call a method (authentication.h) is refused here.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_RAW_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_RAW_SERVICE_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "grpcpp/impl/service_type.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/calls/core_call.h"
#include "server/frontend/requests/services.h"
#include "server/observe/metrics/method.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

using RawReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// As ArrivedCall, of a call that is a reactor of gRPC's.
struct ArrivedStream {
  grpc::CallbackServerContext* context;
  const Caller* caller;
  std::optional<ServerSpan> span;
  std::shared_ptr<Connection> at_address;  // as there, until the stream has its connection

  const ServerSpan* span_or_null() const { return span.has_value() ? &*span : nullptr; }
};

class RawService : public grpc::Service {
 public:
  // Begin to serve a call that has come; never wait.
  using BeginCall = std::function<void(ArrivedCall)>;
  using BeginStream = std::function<RawReactor*(const ArrivedStream&)>;

  // A method whose calls are CoreCalls.
  struct Served {
    Method method;
    BeginCall begin;
  };

 protected:
  explicit RawService(const Services& services) : services_(services) {}

  // Before the service is registered; each method once.
  void Serve(Served served);
  // A method whose calls are gRPC's reactors.
  void ServeStream(Method method, BeginStream begin);

  Services services_;

 private:
  void Add(Method method, std::unique_ptr<grpc::internal::MethodHandler> handler);

  std::deque<std::string> paths_;  // of the methods; gRPC keeps pointers
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_RAW_SERVICE_H_
