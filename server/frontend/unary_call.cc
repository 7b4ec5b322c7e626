#include "server/frontend/unary_call.h"

#include "server/frontend/wait_limits.h"

namespace warpfold {

void UnaryCall::BeginReading() {
  OverdueIn(call_services().limits.Get().message_timeout);
  ReadNext();
}

void UnaryCall::OnMessage(grpc::ByteBuffer* message) {
  if (!EndReceiving()) return;
  EndWait();
  // What is left of a client that went in the middle of its message.
  if (message == nullptr) return Refuse(absl::CancelledError("message: none has come"));
  Serve(message);
  // Only now: a call that has its answer by now does not ask.
  NoticeCancel();
}

void UnaryCall::OnWaitOverdue() {
  if (EndReceiving()) Refuse(MessageOverdue(call_services()));
}

}  // namespace warpfold
