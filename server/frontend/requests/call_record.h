// What the server says of what has ended: of a request for a reduction counts in the metrics, and
// of it as of any other call a line of the access log and a span.
//
// Step of a request: 4, report. Any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_

#include <chrono>
#include <string_view>

#include "absl/status/status.h"
#include "server/core/request/request.h"
#include "server/core/request/task.h"
#include "server/frontend/requests/reply.h"
#include "server/frontend/requests/services.h"
#include "server/observe/log/access_log.h"
#include "server/observe/metrics/method.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

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

// A request for a reduction, whose answer is ready.
struct EndedRequest {
  Method method;
  const Request& request;
  bool is_planned = false;  // else it was refused before that
  const TaskReport& report;
  const absl::Status& status;
  std::chrono::steady_clock::time_point reply_start;  // when its results, or its refusal, were here
  const Reply& reply;
};

// Counts it, and the rest as of a call. Before its answer leaves, so that a client that has it
// finds itself counted. Once a request.
void RecordRequest(const Services& services, const EndedRequest& ended);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_CALL_RECORD_H_
