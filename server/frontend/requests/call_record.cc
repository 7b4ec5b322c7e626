#include "server/frontend/requests/call_record.h"

#include <string>

#include "server/core/base/refusal.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {

void LogCall(AccessLog& access_log, Method method, const absl::Status& status,
             std::chrono::nanoseconds took, std::string_view request_id, const Peer& peer) {
  // Probes ask all the time.
  if (method == Method::kHealthCheck && status.ok()) return;
  if (!access_log.Takes(status.code(), took, IsMalformed(status))) return;
  access_log.Write({.method = method, .code = status.code(), .total = took}, request_id, peer, {},
                   status);
}

void RecordCall(const Services& services, Method method, const absl::Status& status,
                std::chrono::nanoseconds took, std::string_view request_id, const Peer& peer) {
  LogCall(services.access_log, method, status, took, request_id, peer);
  if (!TakesSpan(services, peer.span)) return;
  services.spans->Take({.span = *peer.span,
                        .method = method,
                        .code = status.code(),
                        .end = std::chrono::system_clock::now(),
                        .total = took,
                        .request_id = std::string(request_id),
                        .caller = std::string(peer.caller)});
}

}  // namespace warpfold
