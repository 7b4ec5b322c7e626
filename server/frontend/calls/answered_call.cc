#include "server/frontend/calls/answered_call.h"

#include <optional>
#include <string>
#include <utility>

#include "server/frontend/calls/wait_limits.h"
#include "server/frontend/requests/call_record.h"

namespace warpfold {

AnsweredCall::AnsweredCall(Services& services, Method method, ArrivedCall arrived)
    : CoreCall(std::move(arrived)),
      services_(services),
      method_(method),
      connection_(services.admission.connections().Find(
          caller(), [this] { return PeerName(); }, at_address())),
      start_(std::chrono::steady_clock::now()) {}

void AnsweredCall::Begin(std::shared_ptr<AnsweredCall> call) {
  AnsweredCall& begun = *call;
  begun.self_ = std::move(call);
  begun.services_.watchdog.Add(begun);
  begun.BeginBatch();  // the watchdog may end the call as soon as it counts as open
  begun.BeginReading();
  begun.EndBatch();
}

void AnsweredCall::EndWait() {
  services_.watchdog.NotDue(*this);
  // Of a call that is being ended meanwhile the answer is waited for.
  if (sending_) OverdueIn(write_timeout_);
}

void AnsweredCall::OnOverdue() {
  if (!sending_) return OnWaitOverdue();
  if (const std::optional<std::string> peer = Abort(); peer.has_value()) {
    CountWriteOverdue(services_, method_, PeerAt(*peer), write_timeout_, answer_bytes_);
  }
}

absl::Status AnsweredCall::EnterOpen() {
  absl::Status entered = services_.admission.open_calls().Enter(open_, connection_->open_calls);
  services_.watchdog.GivesWayIn(*this, PressedWriteTimeout(0));
  return entered;
}

void AnsweredCall::LeaveOpen() { services_.admission.open_calls().Leave(open_); }

bool AnsweredCall::GiveWay(Shortage& shortage) {
  if (!sending_) {
    if (shortage.calls <= 0 || !EndWaiting()) return false;
    --shortage.calls;
    return true;
  }
  if ((holds_bytes_ ? shortage.bytes : shortage.calls) <= 0) return false;
  const std::optional<std::string> peer = Abort();
  if (!peer.has_value()) return true;  // it is over
  CountWritePressed(services_, method_, PeerAt(*peer), answer_bytes_);
  if (holds_bytes_) {
    shortage.bytes -= static_cast<std::int64_t>(answer_bytes_) + call_bytes();
  } else {
    --shortage.calls;
  }
  return true;
}

void AnsweredCall::Send(const absl::Status& status, grpc::ByteBuffer& answer,
                        AdmissionTicket held) {
  services_.metrics.CountCallHandled(method_, status.code(), elapsed());
  answer_bytes_ = status.ok() ? answer.Length() : 0;
  const auto bytes = static_cast<std::int64_t>(answer_bytes_);
  held_ = std::move(held);
  held_.Answered(bytes, call_bytes());
  write_timeout_ = services_.limits.Get().WriteTimeout(bytes);
  holds_bytes_ = !held_.is_empty();
  if (holds_bytes_) {
    LeaveOpen();
  } else {
    services_.admission.open_calls().End(open_);
  }
  sending_ = true;
  OverdueIn(write_timeout_);
  services_.watchdog.GivesWayIn(*this, PressedWriteTimeout(bytes));
  Finish(status, answer);
}

void AnsweredCall::LogAndSend(const absl::Status& status, const Named& named,
                              grpc::ByteBuffer& answer, AdmissionTicket held) {
  RecordCall(services_, {.method = method_,
                         .status = status,
                         .took = elapsed(),
                         .request_id = named.request_id,
                         .peer = PeerAt(PeerName()),
                         .subject = named.subject});
  Send(status, answer, std::move(held));
}

void AnsweredCall::LogAndSend(const absl::Status& status) {
  grpc::ByteBuffer none;
  LogAndSend(status, {}, none, {});
}

void AnsweredCall::OnDone() {
  services_.watchdog.Remove(*this);
  held_.Release();
  LeaveOpen();
  self_.reset();  // the last touch
}

}  // namespace warpfold
