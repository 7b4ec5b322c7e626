// The end of an RPC that needs no device: counted, logged, finished.
//
// Step of a request: 4. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_ANSWER_AT_ONCE_H_
#define WARPFOLD_SERVER_FRONTEND_ANSWER_AT_ONCE_H_

#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/job.h"

namespace warpfold {

// Finishes with `status` and, when that is OK, what stands in the call's response.
grpc::ServerUnaryReactor* AnswerAtOnce(Services& services, grpc::CallbackServerContext* context,
                                       Method method, std::string_view request_id,
                                       const absl::Status& status);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_ANSWER_AT_ONCE_H_
