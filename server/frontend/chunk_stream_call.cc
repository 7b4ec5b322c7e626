#include "server/frontend/chunk_stream_call.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/frontend/deadline.h"
#include "server/frontend/status.h"

namespace warpfold {

ChunkStreamCall::ChunkStreamCall(Submission& work, Method method,
                                 grpc::CallbackServerContext* context)
    : work_(work),
      context_(context),
      record_(work.services().metrics, method),
      chunks_(*this, work.ticket(), work.services().limits.Get().stream_idle_timeout,
              DeadlineOf(*context)) {}

void ChunkStreamCall::BeginReading() {
  header_alarm_.Set(
      std::chrono::system_clock::now() + work_.services().limits.Get().stream_idle_timeout,
      [this](bool expired) {
        if (expired) OnHeaderTimeout();
        Unref();
      });
  ReadNext();
}

void ChunkStreamCall::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void ChunkStreamCall::OnReadDone(bool ok) {
  if (!got_header_) {
    got_header_ = true;
    OnHeader(ok);
  } else {
    OnChunkMessage(ok);
  }
}

void ChunkStreamCall::OnHeader(bool ok) {
  if (!EndHeaderPhase()) return;
  header_alarm_.Cancel();
  if (absl::Status status = ReadHeader(ok); !status.ok()) return RefuseWith(status);
  // A cancellation that came before the work was queued found nothing to take back.
  if (!work_.Submission::Wanted().ok()) work_.Cancel();
}

void ChunkStreamCall::OnHeaderTimeout() {
  if (!EndHeaderPhase()) return;
  RefuseWith(absl::DeadlineExceededError(
      absl::StrCat("header: nothing came for ",
                   work_.services().limits.Get().stream_idle_timeout.count(), " ms")));
}

absl::Status ChunkStreamCall::ReadHeader(bool ok) {
  if (!ok) {
    if (context_->IsCancelled()) return absl::CancelledError("the client cancelled the request");
    return absl::InvalidArgumentError("header: the stream ended without one");
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(&message_, kChunkField);
  if (!wire.ok()) return wire.status();
  absl::StatusOr<bool> has_header = TakeHeader(*wire);
  if (!has_header.ok()) return has_header.status();
  if (!*has_header) return absl::InvalidArgumentError("header: the first message has none");
  if (wire->has_payload()) {
    return absl::InvalidArgumentError("header: its message carries a chunk too");
  }
  message_.Clear();
  return ServeHeader();
}

void ChunkStreamCall::OnChunkMessage(bool ok) {
  if (!ok) {
    if (context_->IsCancelled()) {
      chunks_.Fail(absl::CancelledError("the client cancelled the request"));
    }
    return chunks_.OnEnd();
  }
  grpc::ByteBuffer buffer;
  buffer.Swap(&message_);
  absl::StatusOr<WireMessage> wire = WireMessage::Split(&buffer, kChunkField);
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

void ChunkStreamCall::FinishWith(const absl::Status& status) {
  record_.Handled(status.code());
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace warpfold
