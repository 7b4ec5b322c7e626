#include "server/frontend/requests/call_record.h"

#include <string>

#include "server/core/base/refusal.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {
namespace {

bool IsDoneToOthers(const EndedCall& call) {
  return call.status.ok() && call.subject != nullptr && !call.subject->owner.empty() &&
         call.subject->owner != call.peer.caller;
}

}  // namespace

void LogCall(AccessLog& access_log, const EndedCall& call) {
  const absl::Status& status = call.status;
  // Probes ask all the time.
  if (call.method == Method::kHealthCheck && status.ok()) return;
  if (!IsDoneToOthers(call) && !access_log.Takes(status.code(), call.took, IsMalformed(status))) {
    return;
  }
  access_log.Write({.record = {.method = call.method, .code = status.code(), .total = call.took},
                    .request_id = call.request_id,
                    .peer = call.peer,
                    .subject = call.subject,
                    .status = status});
}

void RecordCall(const Services& services, const EndedCall& call) {
  LogCall(services.access_log, call);
  if (!TakesSpan(services, call.peer.span)) return;
  services.spans->Take({.span = *call.peer.span,
                        .method = call.method,
                        .code = call.status.code(),
                        .end = std::chrono::system_clock::now(),
                        .total = call.took,
                        .request_id = std::string(call.request_id),
                        .caller = std::string(call.peer.caller)});
}

}  // namespace warpfold
