// absl::Status as gRPC and google.rpc spell it.
//
// Step of a request: 1 and the way back. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_WIRE_STATUS_H_
#define WARPFOLD_SERVER_FRONTEND_WIRE_STATUS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpc/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

// The same code, message and, for a refusal that may be retried, google.rpc.RetryInfo.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// As the status of a whole RPC, with its trailing metadata, keys and values: details in
// grpc-status-details-bin, and the delay of a refusal that may be retried in
// grpc-retry-pushback-ms, which gRPC clients obey by themselves.
struct WireStatus {
  grpc_status_code code = GRPC_STATUS_OK;
  std::string message;
  std::vector<std::pair<std::string, std::string>> trailers;
};
WireStatus ToWireStatus(const absl::Status& status);

// The same for gRPC's reactors; `context` gets the trailing metadata, and the traceparent of `span`
// unless that is null.
grpc::Status ToGrpcStatus(const absl::Status& status, const ServerSpan* span,
                          grpc::CallbackServerContext& context);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_WIRE_STATUS_H_
