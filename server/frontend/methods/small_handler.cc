#include "server/frontend/methods/small_handler.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "server/core/request/request.h"

namespace warpfold {
namespace {

// What clients ask, of Health or in the Open Inference Protocol, to learn whether there is a
// server.
bool AnswersWhileStarting(Method method) {
  return method == Method::kHealthCheck || method == Method::kServerLive ||
         method == Method::kServerReady || method == Method::kServerMetadata ||
         method == Method::kModelReady;
}

}  // namespace

RawService::Served SmallHandler::ServedBy(Services& services, Method method, Where where,
                                          ParseRequest parse, ProbePlaces* probes) {
  // Shared by all calls of the method.
  const auto shared = std::make_shared<const ParseRequest>(std::move(parse));
  const UnaryCall::MakeHandler make = [&services, method, where, shared, probes](UnaryCall& call) {
    return std::make_unique<SmallHandler>(services, method, call, where,
                                          /*needs_room=*/probes == nullptr, *shared);
  };
  return {method, [&services, method, make, probes](ArrivedCall arrived) {
            UnaryCall::Begin(services, method, std::move(arrived), UnaryCall::Reads::kAtOnce, make,
                             probes);
          }};
}

void SmallHandler::Serve(grpc::ByteBuffer* request) {
  absl::StatusOr<SmallRequest> parsed = parse_(request);
  if (!parsed.ok()) return End(parsed.status());
  request_ = *std::move(parsed);
  absl::Status status = CheckRequestId(request_.id, services_.limits.Get());
  if (!status.ok()) return End(status);
  if (where_ == Where::kHere) return AnswerHere();
  submission_.task().action = RunOnHost{[this] { return RunOnWorker(); }};
  // On OK a worker may already be at it, or done: nothing of the call is touched after.
  status = submission_.Start({});
  if (!status.ok()) End(status);
}

void SmallHandler::AnswerHere() {
  if (needs_room_) {
    absl::StatusOr<AdmissionTicket> admitted = services_.admission.AdmitCall(call_.call_bytes());
    if (!admitted.ok()) return End(admitted.status());
    submission_.ticket() = *std::move(admitted);
  }
  // It has the request, which a client that does not read its answer is not to hold.
  const auto run = std::exchange(request_.run, nullptr);
  run({call_.caller(), subject_}, &answer_, [this](const absl::Status& ended) {
    const bool is_refused = ended.ok() && !AnswersWhileStarting(method_);
    End(is_refused ? services_.admission.CheckStarted() : ended);
  });
}

absl::StatusOr<Outcome> SmallHandler::RunOnWorker() {
  absl::Status status;
  request_.run({call_.caller(), subject_}, &answer_,
               [&status](const absl::Status& ended) { status = ended; });
  if (!status.ok()) return status;
  return Outcome{};
}

void SmallHandler::OnDone(TaskReport report) {
  request_.run = nullptr;  // as above
  End(report.outcome.status());
}

void SmallHandler::End(absl::Status status) {
  AdmissionTicket& ticket = submission_.ticket();
  if (status.ok()) {
    status = ticket.TryHoldAnswer(static_cast<std::int64_t>(answer_.Length()));
    if (!status.ok()) answer_.Clear();
  }
  call_.LogAndSend(status, {request_.id, &subject_}, answer_, std::move(ticket));
}

}  // namespace warpfold
