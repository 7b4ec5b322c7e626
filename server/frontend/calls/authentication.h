// Who calls, and whether they may call this method: before anything of the call is read.
//
// Step of a request: 1. Functions of a call's metadata and connection.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_AUTHENTICATION_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_AUTHENTICATION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "server/core/admission/caller_table.h"
#include "server/core/admission/connections.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

// Who calls, and whether that may be.
struct Authenticated {
  const Caller* caller;  // Nobody(), if it is not known who it is
  absl::Status status;
  // Where an anonymous caller is, and what keeps it; null: of others.
  std::shared_ptr<Connection> at_address = nullptr;
};

// The caller by the name of its certificate, else by its bearer token, else by the listener that it
// came by, else the anonymous one of its address; Everyone() for calls that probes make. Valid as
// long as `callers`, which asks somebody, and `at_address`. UNAUTHENTICATED `authorization`: a
// token that is unknown, or none where one is needed. PERMISSION_DENIED: the caller's scopes do not
// hold the method's.
Authenticated Authenticate(const CallerTable& callers, Connections& connections,
                           const std::string& listener, Method method,
                           const grpc::CallbackServerContext& context);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_AUTHENTICATION_H_
