// Until when a client waits.
#ifndef WARPFOLD_SERVER_FRONTEND_DEADLINE_H_
#define WARPFOLD_SERVER_FRONTEND_DEADLINE_H_

#include <chrono>

#include "grpcpp/server_context.h"

namespace warpfold {

// time_point::max() when it waits for ever, or for longer than a time_point can say: gRPC's own
// deadline() gives one in the past for a time after the year 2262.
std::chrono::system_clock::time_point DeadlineOf(const grpc::ServerContextBase& context);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_DEADLINE_H_
