#include "server/frontend/small_call.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "server/frontend/decode.h"
#include "server/frontend/plain_call.h"

namespace warpfold {

RawService::Served SmallCall::ServedBy(Services& services, Method method, Where where,
                                       ParseRequest parse, ProbePlaces* probes) {
  // Shared by all calls of the method.
  const auto shared = std::make_shared<const ParseRequest>(std::move(parse));
  return {method, [&services, method, where, shared, probes](ArrivedCall arrived) {
            AnsweredCall::Begin(std::make_shared<SmallCall>(services, method, std::move(arrived),
                                                            where, *shared, probes));
          }};
}

absl::Status SmallCall::TakePlace() {
  if (probes_ == nullptr) return EnterOpen();
  probes_->Take({shared_from_this(), this});
  return absl::OkStatus();
}

void SmallCall::EndForAnother() {
  if (Abort().has_value()) call_services().metrics.CountTimeout(Timeout::kCallPressed);
}

void SmallCall::Serve(grpc::ByteBuffer* request) {
  absl::StatusOr<SmallRequest> parsed = parse_(request);
  if (!parsed.ok()) return End(parsed.status());
  request_ = *std::move(parsed);
  const Services& services = call_services();
  absl::Status status = CheckRequestId(request_.id, services.limits.Get());
  if (!status.ok()) return End(status);
  if (where_ == Where::kOnLane) {
    task().action = RunOnHost{[this] { return RunOnWorker(); }};
    // On OK a worker may already be at it, or done: nothing of the call is touched after.
    status = Start({});
    if (!status.ok()) End(status);
    return;
  }
  if (probes_ == nullptr) {
    absl::StatusOr<AdmissionTicket> admitted = services.admission.AdmitCall(call_bytes());
    if (!admitted.ok()) return End(admitted.status());
    ticket() = *std::move(admitted);
  }
  // It has the request, which a client that does not read its answer is not to hold.
  const auto run = std::exchange(request_.run, nullptr);
  run(caller(), &answer_, [this](const absl::Status& ended) {
    const bool is_refused = ended.ok() && !AnswersWhileStarting(method());
    End(is_refused ? call_services().admission.CheckStarted() : ended);
  });
}

absl::StatusOr<Outcome> SmallCall::RunOnWorker() {
  absl::Status status;
  request_.run(caller(), &answer_, [&status](const absl::Status& ended) { status = ended; });
  if (!status.ok()) return status;
  return Outcome{};
}

void SmallCall::OnDone(TaskReport report) {
  request_.run = nullptr;  // as above
  End(report.outcome.status());
}

void SmallCall::End(absl::Status status) {
  if (status.ok()) {
    status = ticket().TryHoldAnswer(static_cast<std::int64_t>(answer_.Length()));
    if (!status.ok()) answer_.Clear();
  }
  LogCall(call_services().access_log, method(), status, record().elapsed(), request_.id, peer());
  Send(status, answer_, std::move(ticket()));
}

}  // namespace warpfold
