#include "server/frontend/chunk_stream_call.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/frontend/wait_limits.h"

namespace warpfold {

ChunkStreamCall::ChunkStreamCall(Submission& work, Method method, ArrivedCall arrived)
    : AnsweredCall(work.services(), method, std::move(arrived)),
      work_(work),
      chunks_(*this, work.ticket()) {}

void ChunkStreamCall::BeginReading() {
  const Limits& limits = call_services().limits.Get();
  OverdueIn(std::min(limits.stream_idle_timeout, limits.message_timeout));
  NoticeCancel();
  ReadNext();
}

void ChunkStreamCall::OnMessage(grpc::ByteBuffer* message) {
  if (!got_header_) {
    got_header_ = true;
    OnHeader(message);
    return;
  }
  EndWait();
  wait_.End(call_services().watchdog.now(),
            message == nullptr ? 0 : static_cast<std::int64_t>(message->Length()));
  OnChunkMessage(message);
}

void ChunkStreamCall::OnHeader(grpc::ByteBuffer* message) {
  if (!EndHeaderPhase()) return;
  EndWait();
  const absl::StatusOr<std::int64_t> bytes = ReadHeader(message);
  if (!bytes.ok()) return RefuseWith(bytes.status());
  promised_bytes_ = *bytes;
  Services& services = call_services();
  if (services.uploads.Take(std::shared_ptr<Upload>(shared_from_this(), this))) {
    return BeginChunks();
  }
  OverdueIn(services.limits.Get().queue_timeout);
  is_accepted_ = true;
  // A client that went before this found nothing to end.
  if (chunks_.has_failed()) BeginChunks();
}

void ChunkStreamCall::BeginChunks() {
  if (is_begun_.exchange(true)) return;
  EndWait();
  chunks_.Begin(promised_bytes_, call_services().piece_bytes, [this] { OnFirstPiece(); });
}

void ChunkStreamCall::OnFirstPiece() {
  absl::Status started = chunks_.Reserve();
  if (started.ok()) started = StartWork();
  if (!started.ok()) {
    CloseChunks();
    return RefuseWith(started);
  }
  // A cancellation that came before the work was queued found nothing to take back.
  if (!work_.token().CheckCancelled().ok()) work_.Cancel();
}

void ChunkStreamCall::CloseChunks() {
  chunks_.Close();
  call_services().uploads.Leave(*this);
}

void ChunkStreamCall::OnWaitOverdue() {
  if (EndHeaderPhase()) return RefuseWith(NoHeader());
  if (is_begun_) return OnChunkOverdue();
  Services& services = call_services();
  chunks_.Fail(services.admission.RefuseQueued(services.limits.Get().queue_timeout));
  BeginChunks();
}

void ChunkStreamCall::OnChunkOverdue() {
  Services& services = call_services();
  const ChunkWait::Seen seen = wait_.Look(services.watchdog.now());
  switch (seen.verdict) {
    case ChunkWait::Verdict::kCame:
      return;
    case ChunkWait::Verdict::kLosesPlace:
      OverdueIn(seen.look_in);
      chunks_.ReserveNoMore();
      return services.uploads.Leave(*this);
    case ChunkWait::Verdict::kSilent:
      return chunks_.Fail(ChunkOverdue(services));
    case ChunkWait::Verdict::kTooSlow:
      return chunks_.Fail(ChunksTooSlow(services));
  }
}

absl::Status ChunkStreamCall::NoHeader() {
  const Limits& limits = call_services().limits.Get();
  return limits.message_timeout < limits.stream_idle_timeout ? MessageOverdue(call_services())
                                                             : HeaderOverdue(call_services());
}

absl::StatusOr<std::int64_t> ChunkStreamCall::ReadHeader(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) return call_services().drain_end.WhyCancelled();
    return InvalidField(Field::kHeader, "the stream ended without one");
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return wire.status();
  absl::StatusOr<bool> has_header = TakeHeader(*wire);
  if (!has_header.ok()) return has_header.status();
  if (!*has_header) return InvalidField(Field::kHeader, "the first message has none");
  if (wire->has_payload()) {
    return InvalidField(Field::kHeader, "its message carries a chunk too");
  }
  return AcceptHeader();
}

void ChunkStreamCall::OnChunkMessage(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) chunks_.Fail(call_services().drain_end.WhyCancelled());
    return chunks_.OnEnd();
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return chunks_.Fail(wire.status());
  absl::StatusOr<bool> has_header = TakeHeader(*wire);
  if (!has_header.ok()) return chunks_.Fail(has_header.status());
  if (*has_header) return chunks_.Fail(InvalidField(Field::kHeader, "sent twice"));
  if (!wire->has_payload()) {
    return chunks_.Fail(InvalidField(Field::kChunk, "the message has none"));
  }
  chunks_.OnChunk(wire->TakePayload());
}

void ChunkStreamCall::ReadChunk() {
  // Time in which nothing is read is not held against the client.
  Services& services = call_services();
  OverdueIn(wait_.Begin(services.watchdog.now(), services.limits.Get()));
  ReadNext();
}

void ChunkStreamCall::OnCancel() {
  const bool is_taken_back = work_.Withdraw();
  // The call may be waiting for a chunk that will not come.
  chunks_.Fail(work_.token().CheckCancelled());
  if (is_taken_back) work_.AnswerWithdrawn();
  if (is_accepted_) BeginChunks();
}

}  // namespace warpfold
