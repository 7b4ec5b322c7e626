#include "server/frontend/requests/plain_call.h"

#include "server/core/base/refusal.h"

namespace warpfold {

void LogCall(AccessLog& access_log, Method method, const absl::Status& status,
             std::chrono::nanoseconds took, std::string_view request_id, const Peer& peer) {
  // Probes ask all the time.
  if (method == Method::kHealthCheck && status.ok()) return;
  if (!access_log.Takes(status.code(), took, IsMalformed(status))) return;
  access_log.Write({.method = method, .code = status.code(), .total = took}, request_id, peer, {},
                   status);
}

bool AnswersWhileStarting(Method method) {
  return method == Method::kHealthCheck || method == Method::kServerLive ||
         method == Method::kServerReady || method == Method::kServerMetadata ||
         method == Method::kModelReady;
}

}  // namespace warpfold
