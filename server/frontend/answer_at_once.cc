#include "server/frontend/answer_at_once.h"

#include "server/frontend/call_record.h"
#include "server/frontend/status.h"

namespace warpfold {

grpc::ServerUnaryReactor* AnswerAtOnce(Services& services, grpc::CallbackServerContext* context,
                                       Method method, std::string_view request_id,
                                       const absl::Status& status) {
  CallRecord record(services.metrics, method);
  record.Handled(status.code());
  if (services.access_log.Takes(status.code(), {})) {
    services.access_log.Write({.method = method, .code = status.code()}, request_id,
                              context->peer(), {}, status);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status, context));
  return reactor;
}

}  // namespace warpfold
