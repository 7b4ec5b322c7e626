// What calls without a tensor have in common: their access line, their span, and who is answered
// while the server starts.
//
// Step of a request: the way back. Any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_PLAIN_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_PLAIN_CALL_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/frontend/requests/services.h"
#include "server/observe/log/access_log.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

// Writes the access line of a call that took `took`, if it gets one.
void LogCall(AccessLog& access_log, Method method, const absl::Status& status,
             std::chrono::nanoseconds took, std::string_view request_id, const Peer& peer);

// Of a call that ends now: the same, and hands on its span, if the client has it sampled and
// somebody takes spans. Once a call.
void ReportCall(const Services& services, Method method, const absl::Status& status,
                std::chrono::nanoseconds took, std::string_view request_id, const Peer& peer);

// What clients ask, of Health or in the Open Inference Protocol, to learn whether there is a
// server.
bool AnswersWhileStarting(Method method);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_PLAIN_CALL_H_
