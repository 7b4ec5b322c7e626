#include "server/frontend/calls/unary_call.h"

#include <utility>

#include "server/frontend/calls/wait_limits.h"

namespace warpfold {

void UnaryCall::Begin(Services& services, Method method, ArrivedCall arrived, Reads reads,
                      const MakeHandler& make_handler, ProbePlaces* probes) {
  AnsweredCall::Begin(std::make_shared<UnaryCall>(services, method, std::move(arrived), reads,
                                                  make_handler, probes));
}

UnaryCall::~UnaryCall() {
  if (probes_ != nullptr) probes_->GiveBack(*this);
}

UnaryHandler& UnaryCall::MakeHandlerNow() {
  handler_ = make_handler_(*this);
  handler_->OnWaitedInLine(waited_in_line_);
  return *handler_;
}

void UnaryCall::BeginReading() {
  if (reads_ == Reads::kAtOnce) {
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
  waited_in_line_ = waited;
  const bool is_in_time = waited <= wait_max;
  if (!is_in_time) RefuseUnread(services.admission.RefuseQueued(wait_max));
  const bool reads = is_in_time && Read();
  EndBatch();
  return reads;
}

void UnaryCall::RefuseUnread(const absl::Status& status) {
  // One that gives way at the same moment has its status already.
  if (EndReceiving()) MakeHandlerNow().Refuse(status);
}

absl::Status UnaryCall::TakePlace() {
  if (probes_ == nullptr) return EnterOpen();
  probes_->Take({shared_from_this(), this});
  return absl::OkStatus();
}

void UnaryCall::EndForAnother() {
  if (Abort().has_value()) call_services().metrics.CountTimeout(Timeout::kCallPressed);
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
  Services& services = call_services();
  if (reads_ == Reads::kInTurn) services.admission.read_line().Leave(*this);
  if (!EndReceiving()) return;
  if (message != nullptr) {
    services.admission.open_calls().lag().Note(services.watchdog.now() - began_reading_at_);
  }
  EndWait();
  LeaveOpen();
  // What is left of a client that went in the middle of its message.
  UnaryHandler& handler = MakeHandlerNow();
  if (message == nullptr) return handler.Refuse(absl::CancelledError("message: none has come"));
  handler.Serve(message);
  // Only now: a call that has its answer by now does not ask.
  NoticeCancel();
}

bool UnaryCall::EndWaiting() {
  if (!EndReceiving()) return false;
  MakeHandlerNow().Refuse(GaveWay(call_services()));
  return true;
}

void UnaryCall::OnWaitOverdue() {
  if (EndReceiving()) MakeHandlerNow().Refuse(MessageOverdue(call_services()));
}

}  // namespace warpfold
