#include "server/frontend/methods/merge_handler.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/numerics.h"
#include "server/core/request/request.h"
#include "server/device/reduce/merge.h"
#include "server/frontend/native/native_codec.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

void MergeHandler::Serve(grpc::ByteBuffer* request) {
  // On OK a worker may already be at it, or done: nothing of the call is touched after.
  if (absl::Status status = Queue(request); !status.ok()) End(status);
}

absl::Status MergeHandler::Queue(grpc::ByteBuffer* request) {
  const absl::StatusOr<MergeOutline> outline = OutlineMerge(request);
  if (!outline.ok()) return outline.status();
  outline_ = *outline;
  absl::Status admitted = submission_.Admit({.payload = outline_.message_bytes});
  if (!admitted.ok()) return admitted;
  if (outline_.broken_state.has_value()) return BrokenState(*outline_.broken_state);
  message_.Swap(request);
  submission_.task().action = RunOnHost{[this] { return Merge(); }};
  return submission_.Queue();
}

absl::Status MergeHandler::Parse() {
  const Limits& limits = services_.limits.Get();
  absl::Status status = submission_.ticket().TryHold(outline_.parsed_bytes());
  if (status.ok()) status = ParseMerge(&message_, &request_);
  if (status.ok()) status = CheckRequestId(request_.request_id(), limits);
  if (status.ok()) status = CheckNumericsVersion(request_.required_numerics_version());
  if (!status.ok()) return status;
  absl::StatusOr<Merging> merging = DecodeStates(request_, limits);
  if (!merging.ok()) return merging.status();
  merging_ = *std::move(merging);
  const Part& merged = merging_.merged;
  return submission_.ticket().TryHold({.results = request_.return_state()
                                                      ? StateBytesOf(merged.whole, merged.box)
                                                      : merged.whole.result_bytes()});
}

absl::StatusOr<Outcome> MergeHandler::Merge() {
  if (absl::Status parsed = Parse(); !parsed.ok()) return parsed;
  const Plan& whole = merging_.merged.whole;
  absl::StatusOr<std::vector<std::string>> answer =
      (request_.return_state() ? MergeToValues : MergeToResults)(whole, merging_.parts);
  if (!answer.ok()) return answer.status();
  return Outcome{.results = *std::move(answer), .times = {}};
}

void MergeHandler::OnDone(TaskReport report) {
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
    response_.mutable_timing()->set_total_ns(call_.elapsed().count());
  }
  End(status);
}

void MergeHandler::End(const absl::Status& status) {
  grpc::ByteBuffer answer;
  const absl::Status told = status.ok() ? Encode(response_, &answer) : status;
  message_.Clear();
  response_.Clear();
  merging_ = {};
  request_.clear_states();
  call_.LogAndSend(told, {request_.request_id()}, answer, std::move(submission_.ticket()));
}

}  // namespace warpfold
