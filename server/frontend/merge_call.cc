#include "server/frontend/merge_call.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/device/merge.h"
#include "server/frontend/deadline.h"
#include "server/frontend/decode.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/response.h"
#include "server/frontend/status.h"

namespace warpfold {

MergeCall::MergeCall(Services& services, grpc::CallbackServerContext* context,
                     const v1::MergeRequest* request, v1::ReduceResponse* response)
    : Submission(services, DeadlineOf(*context)),
      context_(context),
      request_(request),
      response_(response),
      record_(services.metrics, Method::kMerge) {}

grpc::ServerUnaryReactor* MergeCall::Begin(Services& services, grpc::CallbackServerContext* context,
                                           const v1::MergeRequest* request,
                                           v1::ReduceResponse* response) {
  MergeCall* call = new MergeCall(services, context, request, response);
  if (absl::Status status = call->Serve(); !status.ok()) call->FinishWith(status);
  return call;
}

absl::Status MergeCall::Serve() {
  const Limits& limits = services().limits.Get();
  if (absl::Status status = CheckRequestId(request_->request_id(), limits); !status.ok()) {
    return status;
  }
  absl::StatusOr<AdmissionTicket> admitted =
      services().admission.Admit(static_cast<std::int64_t>(request_->ByteSizeLong()));
  if (!admitted.ok()) return admitted.status();
  ticket() = *std::move(admitted);
  absl::StatusOr<Merging> merging = DecodeStates(*request_, limits);
  if (!merging.ok()) return merging.status();
  merging_ = *std::move(merging);
  // On OK a lane may already be at work, or done: nothing of the call is touched after.
  return services().scheduler.Submit(this);
}

absl::StatusOr<Outcome> MergeCall::Merge() const {
  const Plan& whole = merging_.merged.whole;
  absl::StatusOr<std::vector<std::string>> answer = request_->return_state()
                                                        ? MergeToValues(whole, merging_.parts)
                                                        : MergeToResults(whole, merging_.parts);
  if (!answer.ok()) return answer.status();
  return Outcome{.results = *std::move(answer), .times = {}};
}

void MergeCall::Done(WorkReport report) {
  const absl::Status status = report.outcome.status();
  if (status.ok()) {
    response_->set_request_id(request_->request_id());
    if (request_->return_state()) {
      response_->set_state(EncodeState(merging_.merged, std::move(report.outcome->results)));
    } else {
      AddResults(merging_.merged.whole, std::move(report.outcome->results), response_);
    }
    response_->mutable_timing()->set_queue_ns(report.queue.count());
    response_->mutable_timing()->set_total_ns(record_.elapsed().count());
  }
  FinishWith(status);
}

void MergeCall::FinishWith(const absl::Status& status) {
  merging_ = {};
  ticket().Release();
  record_.Handled(status.code());
  LogCall(services().access_log, Method::kMerge, status, record_.elapsed(), request_->request_id(),
          context_->peer());
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace warpfold
