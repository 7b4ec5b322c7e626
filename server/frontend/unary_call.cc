#include "server/frontend/unary_call.h"

#include "server/frontend/wait_limits.h"

namespace warpfold {

void UnaryCall::BeginReading() {
  if (!IsReadInLine()) {
    Read();
    return;
  }
  Services& services = call_services();
  in_line_since_ = std::chrono::steady_clock::now();
  BeginBatch();  // gRPC is not done with the call while it waits
  const absl::Status entered = services.admission.read_line().Enter(
      connection().line, std::shared_ptr<Member>(shared_from_this(), this));
  if (entered.ok()) return;
  RefuseUnread(entered);
  EndBatch();
}

bool UnaryCall::OnTurn() {
  Services& services = call_services();
  const std::chrono::milliseconds wait_max = services.limits.Get().queue_timeout;
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - in_line_since_;
  OnWaitedInLine(waited);
  const bool is_in_time = waited <= wait_max;
  if (!is_in_time) RefuseUnread(services.admission.RefuseQueued(wait_max));
  const bool reads = is_in_time && Read();
  EndBatch();
  return reads;
}

void UnaryCall::RefuseUnread(const absl::Status& status) {
  // One that gives way at the same moment has its status already.
  if (EndReceiving()) Refuse(status);
}

bool UnaryCall::Read() {
  OverdueIn(call_services().limits.Get().message_timeout);
  if (const absl::Status place = TakePlace(); !place.ok()) {
    RefuseUnread(place);
    return false;
  }
  began_reading_at_ = call_services().watchdog.now();
  ReadNext();
  return true;
}

void UnaryCall::OnMessage(grpc::ByteBuffer* message) {
  if (IsReadInLine()) call_services().admission.read_line().Leave(*this);
  if (!EndReceiving()) return;
  if (message != nullptr) {
    Services& services = call_services();
    services.admission.open_calls().lag().Note(services.watchdog.now() - began_reading_at_);
  }
  EndWait();
  LeaveOpen();
  // What is left of a client that went in the middle of its message.
  if (message == nullptr) return Refuse(absl::CancelledError("message: none has come"));
  Serve(message);
  // Only now: a call that has its answer by now does not ask.
  NoticeCancel();
}

bool UnaryCall::EndWaiting() {
  if (!EndReceiving()) return false;
  Refuse(GaveWay(call_services()));
  return true;
}

void UnaryCall::OnWaitOverdue() {
  if (EndReceiving()) Refuse(MessageOverdue(call_services()));
}

}  // namespace warpfold
