// absl::Status as gRPC and google.rpc spell it.
//
// Step of a request: 1 and the way back. Pure functions but for the trailer.
#ifndef WARPFOLD_SERVER_FRONTEND_STATUS_H_
#define WARPFOLD_SERVER_FRONTEND_STATUS_H_

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace warpfold {

// The same code, message and, for a refusal that may be retried, google.rpc.RetryInfo.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// As the status of a whole RPC: details in grpc-status-details-bin, and the delay of a refusal that
// may be retried in the trailer grpc-retry-pushback-ms, which gRPC clients obey by themselves. Call
// before Finish.
grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_STATUS_H_
