// What the server says of a call that ends beside its metrics: a line of the access log, and a
// span. What it says of a request for a reduction, Reduction::Record says.
//
// Step of a request: 4, report. Any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_

#include <chrono>
#include <string_view>

#include "absl/status/status.h"
#include "server/frontend/requests/services.h"
#include "server/observe/log/access_log.h"
#include "server/observe/metrics/method.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

// The client has it sampled, and somebody takes spans. Null: the client traces nothing.
inline bool TakesSpan(const Services& services, const ServerSpan* span) {
  return span != nullptr && span->context.is_sampled && services.spans != nullptr;
}

// A call that has ended, or one of its answers that is not read.
struct EndedCall {
  Method method;
  const absl::Status& status;
  std::chrono::nanoseconds took;
  std::string_view request_id = {};
  const Peer& peer;
  const Subject* subject = nullptr;
};

// Writes its access line, if it gets one. What an administrator did to what is another's always
// does.
void LogCall(AccessLog& access_log, const EndedCall& call);

// Of one that ends now: the same, and its span. Once a call.
void RecordCall(const Services& services, const EndedCall& call);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_
