#include "server/frontend/host_call.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"
#include "server/frontend/decode.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/status.h"
#include "server/frontend/wire_message.h"

namespace warpfold {
namespace {

// What waits is bounded, though nothing of it is counted: these have names and numbers in them.
absl::Status CheckSize(const google::protobuf::MessageLite& request) {
  const std::size_t bytes = request.ByteSizeLong();
  if (bytes <= kHeaderBytesMax) return absl::OkStatus();
  return RefusalStatus(NeverFits{}, absl::StrCat("message: has ", bytes,
                                                 " bytes, above the limit of ", kHeaderBytesMax));
}

}  // namespace

grpc::ServerUnaryReactor* HostCall::Begin(Services& services, grpc::CallbackServerContext* context,
                                          Method method,
                                          const google::protobuf::MessageLite& request,
                                          const std::string& request_id,
                                          std::function<absl::Status()> run) {
  HostCall* call = new HostCall(services, context, method, request_id, std::move(run));
  absl::Status status = CheckSize(request);
  if (status.ok()) status = CheckRequestId(request_id, services.limits.Get());
  // On OK a lane may already be at work, or done: nothing of the call is touched after.
  if (status.ok()) status = call->Start(/*held_bytes=*/0);
  if (!status.ok()) call->FinishWith(status);
  return call;
}

LaneTask HostCall::task() {
  return RunOnHost{[this]() -> absl::StatusOr<Outcome> {
    if (absl::Status status = run_(); !status.ok()) return status;
    return Outcome{};
  }};
}

void HostCall::Done(WorkReport report) { FinishWith(report.outcome.status()); }

void HostCall::FinishWith(const absl::Status& status) {
  ticket().Release();
  record_.Handled(status.code());
  LogCall(services().access_log, method_, status, record_.elapsed(), request_id_, context_->peer());
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace warpfold
