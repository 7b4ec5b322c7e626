#include "server/frontend/calls/streamed_call.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/base/refusal.h"
#include "server/frontend/calls/wait_limits.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

void StreamedCall::BeginReading() {
  // A call that ends in here may be done before the lock is given back.
  const std::shared_ptr<Watched> self = shared_from_this();
  absl::MutexLock lock(&mutex_);
  if (const absl::Status place = TakePlace(); !place.ok()) return End(place);
  NoticeCancel();
  AwaitRequest();
}

void StreamedCall::AwaitRequest() {
  doing_ = Doing::kReading;
  OverdueIn(call_services().limits.Get().message_timeout);
  ReadNext();
}

void StreamedCall::OnMessage(grpc::ByteBuffer* message) {
  absl::MutexLock lock(&mutex_);
  if (doing_ != Doing::kReading) return;  // the call has ended meanwhile
  EndWait();
  doing_ = Doing::kNothing;
  if (is_cancelled_ || (message == nullptr && IsBroken())) return EndCancelled();
  OnRequest(message);
}

void StreamedCall::WriteAnswer(const google::protobuf::MessageLite& answer) {
  grpc::ByteBuffer bytes;
  if (const absl::Status encoded = Encode(answer, &bytes); !encoded.ok()) return End(encoded);
  doing_ = Doing::kWriting;
  writing_bytes_ = bytes.Length();
  write_timeout_ =
      call_services().limits.Get().WriteTimeout(static_cast<std::int64_t>(writing_bytes_));
  OverdueIn(write_timeout_);
  Write(bytes);
}

void StreamedCall::HurryAnswer(std::chrono::milliseconds time) {
  is_hurried_ = true;
  OverdueIn(time);
}

void StreamedCall::OnWritten(bool ok) {
  absl::MutexLock lock(&mutex_);
  EndWait();
  doing_ = Doing::kNothing;
  if (!ok || is_cancelled_) return EndCancelled();
  OnAnswerWritten();
}

void StreamedCall::OnCancel() {
  absl::MutexLock lock(&mutex_);
  is_cancelled_ = true;
  if (doing_ == Doing::kNothing) EndCancelled();  // else what it does ends by itself
}

void StreamedCall::OnWaitOverdue() {
  absl::MutexLock lock(&mutex_);
  switch (doing_) {
    case Doing::kNothing:
    case Doing::kEnded:
      return;
    case Doing::kReading:
      return End(MessageOverdue(call_services()));
    case Doing::kWriting:
      break;
  }
  const std::optional<std::string> peer = Abort();
  if (!peer.has_value() || is_hurried_) return;
  CountWriteOverdue(call_services(), method(), PeerAt(*peer), write_timeout_, writing_bytes_);
}

void StreamedCall::EndCancelled() { End(call_services().drain_end.WhyCancelled()); }

void StreamedCall::End(const absl::Status& status) {
  doing_ = Doing::kEnded;
  LogAndSend(status);
}

absl::Status NoPlaceFor(Method method, int places_max, const char* option) {
  // Such a call lasts for as long as its client wants.
  constexpr std::chrono::milliseconds kDelay{1000};
  return RefusalStatus(RetryLater{kDelay},
                       absl::StrCat("the limit of ", places_max, " calls of ", Name(method),
                                    " is reached (", option, ")"));
}

}  // namespace warpfold
