#include "server/frontend/chunk_stream_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/frontend/deadline.h"

namespace warpfold {

ChunkStreamCall::ChunkStreamCall(Submission& work, Method method, ArrivedCall arrived)
    : AnsweredCall(work.services(), method, std::move(arrived)),
      work_(work),
      chunks_(*this, work.ticket(), work.services().limits.Get().stream_idle_timeout,
              DeadlineOf(context())) {}

void ChunkStreamCall::BeginReading() {
  OverdueIn(call_services().limits.Get().stream_idle_timeout);
  NoticeCancel();
  ReadNext();
}

void ChunkStreamCall::OnMessage(grpc::ByteBuffer* message) {
  if (!got_header_) {
    got_header_ = true;
    OnHeader(message);
  } else {
    OnChunkMessage(message);
  }
}

void ChunkStreamCall::OnHeader(grpc::ByteBuffer* message) {
  if (!EndHeaderPhase()) return;
  EndWait();
  if (absl::Status status = ReadHeader(message); !status.ok()) return RefuseWith(status);
  // A cancellation that came before the work was queued found nothing to take back.
  if (!work_.Submission::Wanted().ok()) work_.Cancel();
}

void ChunkStreamCall::OnWaitOverdue() {
  if (!EndHeaderPhase()) return;
  RefuseWith(absl::DeadlineExceededError(
      absl::StrCat("header: nothing came for ",
                   call_services().limits.Get().stream_idle_timeout.count(), " ms")));
}

absl::Status ChunkStreamCall::ReadHeader(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) return absl::CancelledError("the client cancelled the request");
    return absl::InvalidArgumentError("header: the stream ended without one");
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return wire.status();
  absl::StatusOr<bool> has_header = TakeHeader(*wire);
  if (!has_header.ok()) return has_header.status();
  if (!*has_header) return absl::InvalidArgumentError("header: the first message has none");
  if (wire->has_payload()) {
    return absl::InvalidArgumentError("header: its message carries a chunk too");
  }
  return ServeHeader();
}

void ChunkStreamCall::OnChunkMessage(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) {
      chunks_.Fail(absl::CancelledError("the client cancelled the request"));
    }
    return chunks_.OnEnd();
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return chunks_.Fail(wire.status());
  absl::StatusOr<bool> has_header = TakeHeader(*wire);
  if (!has_header.ok()) return chunks_.Fail(has_header.status());
  if (*has_header) return chunks_.Fail(absl::InvalidArgumentError("header: sent twice"));
  if (!wire->has_payload()) {
    return chunks_.Fail(absl::InvalidArgumentError("chunk: the message has none"));
  }
  chunks_.OnChunk(wire->TakePayload());
}

void ChunkStreamCall::OnCancel() {
  // The lane may be waiting for a chunk that will not come.
  absl::Status wanted = work_.Submission::Wanted();
  chunks_.Fail(wanted.ok() ? absl::CancelledError("the client cancelled the request")
                           : std::move(wanted));
  work_.Cancel();
}

}  // namespace warpfold
