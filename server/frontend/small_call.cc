#include "server/frontend/small_call.h"

#include <memory>

#include "server/frontend/decode.h"
#include "server/frontend/plain_call.h"

namespace warpfold {

RawService::Served SmallCall::ServedBy(Services& services, Method method, Where where,
                                       ParseRequest parse) {
  // Shared by all calls of the method.
  const auto shared = std::make_shared<const ParseRequest>(std::move(parse));
  return {method, [&services, method, where, shared](ArrivedCall arrived) {
            AnsweredCall::Begin(
                std::make_shared<SmallCall>(services, method, std::move(arrived), where, *shared));
          }};
}

void SmallCall::Serve(grpc::ByteBuffer* request) {
  absl::StatusOr<SmallRequest> parsed = parse_(request);
  if (!parsed.ok()) return End(parsed.status());
  request_ = *std::move(parsed);
  const Services& services = call_services();
  absl::Status status = CheckRequestId(request_.id, services.limits.Get());
  if (!status.ok()) return End(status);
  if (where_ == Where::kOnLane) {
    // On OK a lane may already be at work, or done: nothing of the call is touched after.
    status = Start({});
    if (!status.ok()) End(status);
    return;
  }
  status = request_.run(&answer_);
  if (status.ok() && !AnswersWhileStarting(method())) status = services.admission.CheckStarted();
  End(status);
}

LaneTask SmallCall::task() {
  return RunOnHost{[this]() -> absl::StatusOr<Outcome> {
    if (absl::Status status = request_.run(&answer_); !status.ok()) return status;
    return Outcome{};
  }};
}

void SmallCall::End(const absl::Status& status) {
  LogCall(call_services().access_log, method(), status, record().elapsed(), request_.id,
          PeerName());
  Send(status, answer_, std::move(ticket()));
}

}  // namespace warpfold
