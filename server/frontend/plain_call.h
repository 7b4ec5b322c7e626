// Calls that are no reductions: their access line, and the end of those that need no lane.
//
// Step of a request: the way back. Any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_PLAIN_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_PLAIN_CALL_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/call_record.h"
#include "server/frontend/services.h"
#include "server/observe/access_log.h"
#include "server/observe/metrics.h"

namespace warpfold {

// Writes the access line of a call that took `took`, if it gets one.
void LogCall(AccessLog& access_log, Method method, const absl::Status& status,
             std::chrono::nanoseconds took, std::string_view request_id, const std::string& peer);

// Counts, logs and ends a call whose response, if `status` is OK, is filled. `record` was made when
// the call came. While the server starts, only methods that ask about the server itself are
// answered; the others are UNAVAILABLE.
grpc::ServerUnaryReactor* AnswerPlainCall(Services& services, grpc::CallbackServerContext* context,
                                          Method method, CallRecord& record,
                                          std::string_view request_id, absl::Status status);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_PLAIN_CALL_H_
