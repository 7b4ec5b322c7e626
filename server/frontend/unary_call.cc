#include "server/frontend/unary_call.h"

#include "server/frontend/wait_limits.h"

namespace warpfold {

void UnaryCall::BeginReading() {
  if (const absl::Status place = TakePlace(); !place.ok()) {
    // One that gives way at the same moment has its status already.
    if (EndReceiving()) Refuse(place);
    return;
  }
  OverdueIn(call_services().limits.Get().message_timeout);
  began_reading_at_ = call_services().watchdog.now();
  ReadNext();
}

void UnaryCall::OnMessage(grpc::ByteBuffer* message) {
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
