#include "server/frontend/plain_call.h"

#include "server/core/refusal.h"
#include "server/frontend/status.h"

namespace warpfold {
namespace {

// What the Open Inference Protocol's clients ask to learn whether there is a server.
bool AnswersWhileStarting(Method method) {
  return method == Method::kServerLive || method == Method::kServerReady ||
         method == Method::kServerMetadata || method == Method::kModelReady;
}

}  // namespace

void LogCall(AccessLog& access_log, Method method, const absl::Status& status,
             std::chrono::nanoseconds took, std::string_view request_id, const std::string& peer) {
  if (!access_log.Takes(status.code(), took, IsMalformed(status))) return;
  access_log.Write({.method = method, .code = status.code(), .total = took}, request_id, peer, {},
                   status);
}

grpc::ServerUnaryReactor* AnswerPlainCall(Services& services, grpc::CallbackServerContext* context,
                                          Method method, CallRecord& record,
                                          std::string_view request_id, absl::Status status) {
  if (status.ok() && !AnswersWhileStarting(method)) status = services.admission.CheckStarted();
  record.Handled(status.code());
  LogCall(services.access_log, method, status, record.elapsed(), request_id, context->peer());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status, context));
  return reactor;
}

}  // namespace warpfold
