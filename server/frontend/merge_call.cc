#include "server/frontend/merge_call.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/numerics.h"
#include "server/device/merge.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/response.h"

namespace warpfold {

void MergeCall::Serve(grpc::ByteBuffer* request) {
  // On OK a worker may already be at it, or done: nothing of the call is touched after.
  if (absl::Status status = Submit(request); !status.ok()) End(status);
}

absl::Status MergeCall::Submit(grpc::ByteBuffer* request) {
  const absl::StatusOr<MergeOutline> outline = OutlineMerge(request);
  if (!outline.ok()) return outline.status();
  outline_ = *outline;
  absl::StatusOr<AdmissionTicket> admitted =
      services().admission.Admit({.payload = outline_.message_bytes}, requester().use.get());
  if (!admitted.ok()) return admitted.status();
  ticket() = *std::move(admitted);
  if (outline_.broken_state.has_value()) return BrokenState(*outline_.broken_state);
  message_.Swap(request);
  task().action = RunOnHost{[this] { return Merge(); }};
  return services().scheduler.Submit(&task());
}

absl::Status MergeCall::Parse() {
  const Limits& limits = services().limits.Get();
  absl::Status status = ticket().TryHold(outline_.parsed_bytes());
  if (status.ok()) status = ParseMerge(&message_, &request_);
  if (status.ok()) status = CheckRequestId(request_.request_id(), limits);
  if (status.ok()) status = CheckNumericsVersion(request_.required_numerics_version());
  if (!status.ok()) return status;
  absl::StatusOr<Merging> merging = DecodeStates(request_, limits);
  if (!merging.ok()) return merging.status();
  merging_ = *std::move(merging);
  const Part& merged = merging_.merged;
  return ticket().TryHold({.results = request_.return_state()
                                          ? StateBytesOf(merged.whole, merged.box)
                                          : merged.whole.result_bytes()});
}

absl::StatusOr<Outcome> MergeCall::Merge() {
  if (absl::Status parsed = Parse(); !parsed.ok()) return parsed;
  const Plan& whole = merging_.merged.whole;
  absl::StatusOr<std::vector<std::string>> answer =
      (request_.return_state() ? MergeToValues : MergeToResults)(whole, merging_.parts);
  if (!answer.ok()) return answer.status();
  return Outcome{.results = *std::move(answer), .times = {}};
}

void MergeCall::OnDone(TaskReport report) {
  const absl::Status status = report.outcome.status();
  if (status.ok()) {
    response_.set_request_id(request_.request_id());
    response_.set_numerics_version(kNumericsVersion);
    if (request_.return_state()) {
      response_.set_state(EncodeState(merging_.merged, std::move(report.outcome->results)));
    } else {
      AddResults(merging_.merged.whole, std::move(report.outcome->results), &response_);
    }
    response_.mutable_timing()->set_queue_ns(report.queue.count());
    response_.mutable_timing()->set_total_ns(record().elapsed().count());
  }
  End(status);
}

void MergeCall::End(const absl::Status& status) {
  grpc::ByteBuffer answer;
  const absl::Status told = status.ok() ? Encode(response_, &answer) : status;
  LogCall(services().access_log, Method::kMerge, told, record().elapsed(), request_.request_id(),
          peer());
  message_.Clear();
  response_.Clear();
  merging_ = {};
  request_.clear_states();
  Send(told, answer, std::move(ticket()));
}

}  // namespace warpfold
