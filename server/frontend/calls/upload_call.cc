#include "server/frontend/calls/upload_call.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/frontend/calls/wait_limits.h"

namespace warpfold {

void UploadCall::Begin(Services& services, Method method, ArrivedCall arrived,
                       MakeHandler make_handler) {
  AnsweredCall::Begin(
      std::make_shared<UploadCall>(services, method, std::move(arrived), make_handler));
}

UploadCall::UploadCall(Services& services, Method method, ArrivedCall arrived,
                       MakeHandler make_handler)
    : AnsweredCall(services, method, std::move(arrived)),
      handler_(make_handler(*this)),
      submission_(handler_->submission()),
      chunks_(*this, submission_.ticket(), services.uploads.beyond()) {}

void UploadCall::BeginReading() {
  if (const absl::Status place = EnterOpen(); !place.ok()) {
    if (EndHeaderPhase()) handler_->Refuse(place);
    return;
  }
  const Limits& limits = call_services().limits.Get();
  OverdueIn(std::min(limits.stream_idle_timeout, limits.message_timeout));
  NoticeCancel();
  ReadNext();
}

void UploadCall::OnMessage(grpc::ByteBuffer* message) {
  if (!got_header_) {
    got_header_ = true;
    OnHeader(message);
    return;
  }
  EndWait();
  const std::int64_t bytes = message == nullptr ? 0 : static_cast<std::int64_t>(message->Length());
  wait_.End(call_services().watchdog.now(), bytes);
  if (!has_place_ && bytes > 0) TryTakePlace(bytes);
  OnChunkMessage(message);
}

void UploadCall::OnHeader(grpc::ByteBuffer* message) {
  if (!EndHeaderPhase()) return;
  EndWait();
  header_at_ = std::chrono::steady_clock::now();
  const absl::StatusOr<std::int64_t> bytes = ReadHeader(message);
  if (!bytes.ok()) return handler_->Refuse(bytes.status());
  promised_bytes_ = *bytes;
  Services& services = call_services();
  const std::shared_ptr<Upload> upload(shared_from_this(), this);
  if (services.uploads.Take(&connection(), upload)) return OnPlace();
  OverdueIn(services.limits.Get().queue_timeout);
  is_accepted_ = true;
  // A client that went before this found nothing to end.
  if (chunks_.has_failed()) BeginChunks(0);
}

void UploadCall::BeginChunks(std::int64_t place_bytes) {
  if (is_begun_.exchange(true)) return;
  EndWait();
  place_wait_ = std::chrono::steady_clock::now() - header_at_;
  has_place_ = place_bytes > 0;
  chunks_.Begin(promised_bytes_, call_services().segment_bytes, place_bytes,
                [this] { OnFirstSegment(); });
}

void UploadCall::OnFirstSegment() {
  absl::Status started = chunks_.Reserve();
  if (started.ok()) started = handler_->Start(place_wait_);
  if (!started.ok()) {
    StopReceiving();
    return handler_->Refuse(started);
  }
  // A cancellation that came before the task was queued found nothing to take back.
  if (!submission_.token().CheckCancelled().ok()) submission_.Cancel();
}

void UploadCall::StopReceiving() {
  {
    absl::MutexLock lock(&place_mutex_);
    is_closed_ = true;
  }
  chunks_.Close();
  call_services().uploads.Leave(*this);
}

void UploadCall::OnWaitOverdue() {
  if (EndHeaderPhase()) return handler_->Refuse(NoHeader());
  if (is_begun_) return OnChunkOverdue();
  Services& services = call_services();
  chunks_.Fail(services.admission.RefuseQueued(services.limits.Get().queue_timeout));
  BeginChunks(0);
}

bool UploadCall::EndWaiting() {
  Services& services = call_services();
  if (EndHeaderPhase()) {
    handler_->Refuse(GaveWay(services));
    return true;
  }
  const bool is_queued = is_accepted_ && !is_begun_;
  const bool is_silent = wait_.Silence(services.watchdog.now()) >= UploadPlaces::kSilentMax;
  if (!is_queued && !is_silent) return false;
  chunks_.Fail(GaveWay(services));
  if (is_queued) BeginChunks(0);
  return true;
}

void UploadCall::OnChunkOverdue() {
  Services& services = call_services();
  const ChunkWait::Seen seen = wait_.Look(services.watchdog.now());
  switch (seen.verdict) {
    case ChunkWait::Verdict::kCame:
      return;
    case ChunkWait::Verdict::kLosesPlace:
      return LeavePlace(seen.look_in);
    case ChunkWait::Verdict::kSilent:
      return chunks_.Fail(ChunkOverdue(services));
    case ChunkWait::Verdict::kTooSlow:
      return chunks_.Fail(ChunksTooSlow(services));
  }
}

void UploadCall::LeavePlace(std::chrono::milliseconds look_in) {
  Services& services = call_services();
  UploadPlaces& uploads = services.uploads;
  const std::chrono::milliseconds now = services.watchdog.now();
  const std::int64_t kept_bytes = chunks_.kept_bytes();
  if (!uploads.beyond().HasRoomFor(kept_bytes) && uploads.has_waiting()) {
    uploads.EndSilentOnes(kept_bytes, now);
  }
  UploadPlaces::Granted granted;
  {
    absl::MutexLock lock(&place_mutex_);
    if (is_closed_) return;
    if (chunks_.LeavePlace()) {
      OverdueIn(look_in);
      has_place_ = false;
      granted = uploads.LeaveSilent(*this);
      NoteSilence(now - wait_.Silence(now));
    } else {
      // There is no room for what it holds: it stays where it is until there is, or it has been
      // silent for as long as those that hold the room.
      wait_.SetPlace(true);
      OverdueIn(ChunkWait::kPlaceWaitMax);
    }
  }
  granted.Tell();
  if (has_place_ && uploads.has_waiting()) EndSilent();
}

void UploadCall::TryTakePlace(std::int64_t bytes) {
  UploadPlaces& uploads = call_services().uploads;
  if (is_in_silence_.exchange(false)) uploads.EndSilence(*this);
  {
    absl::MutexLock lock(&place_mutex_);
    if (is_closed_) return;  // nobody would leave the place
    has_place_ = uploads.TakeForBytes(*this);
    wait_.SetPlace(has_place_);
    if (has_place_) return chunks_.EnterPlace(place_bytes());
  }
  if (!uploads.beyond().HasRoomFor(bytes)) {
    uploads.EndSilentOnes(bytes, call_services().watchdog.now());
  }
}

void UploadCall::NoteSilence(std::chrono::milliseconds since) {
  is_in_silence_ = true;
  call_services().uploads.BeginSilence(std::shared_ptr<Upload>(shared_from_this(), this), since);
}

std::int64_t UploadCall::EndSilent() {
  Services& services = call_services();
  if (wait_.Silence(services.watchdog.now()) < UploadPlaces::kSilentMax) return 0;
  const std::int64_t kept_bytes = chunks_.kept_bytes();
  if (kept_bytes > 0) {
    chunks_.Fail(services.admission.RefuseBeyond(services.uploads.beyond().bytes_max()));
  }
  return kept_bytes;
}

absl::Status UploadCall::NoHeader() {
  const Limits& limits = call_services().limits.Get();
  return limits.message_timeout < limits.stream_idle_timeout ? MessageOverdue(call_services())
                                                             : HeaderOverdue(call_services());
}

absl::StatusOr<std::int64_t> UploadCall::ReadHeader(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) return call_services().drain_end.WhyCancelled();
    return InvalidField(Field::kHeader, "the stream ended without one");
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return wire.status();
  absl::StatusOr<bool> has_header = handler_->TakeHeader(*wire);
  if (!has_header.ok()) return has_header.status();
  if (!*has_header) return InvalidField(Field::kHeader, "the first message has none");
  if (wire->has_payload()) {
    return InvalidField(Field::kHeader, "its message carries a chunk too");
  }
  return handler_->AcceptHeader();
}

void UploadCall::OnChunkMessage(grpc::ByteBuffer* message) {
  if (message == nullptr) {
    if (IsBroken()) chunks_.Fail(call_services().drain_end.WhyCancelled());
    return chunks_.OnEnd();
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kChunkField);
  if (!wire.ok()) return chunks_.Fail(wire.status());
  absl::StatusOr<bool> has_header = handler_->TakeHeader(*wire);
  if (!has_header.ok()) return chunks_.Fail(has_header.status());
  if (*has_header) return chunks_.Fail(InvalidField(Field::kHeader, "sent twice"));
  if (!wire->has_payload()) {
    return chunks_.Fail(InvalidField(Field::kChunk, "the message has none"));
  }
  chunks_.OnChunk(wire->TakePayload());
}

void UploadCall::ReadChunk() {
  // Time in which nothing is read is not held against the client.
  Services& services = call_services();
  const std::chrono::milliseconds now = services.watchdog.now();
  OverdueIn(wait_.Begin(now, services.limits.Get()));
  if (!has_place_ && wait_.has_brought_bytes()) NoteSilence(now);
  ReadNext();
}

void UploadCall::OnCancel() {
  const bool is_taken_back = submission_.Withdraw();
  // The call may be waiting for a chunk that will not come.
  chunks_.Fail(submission_.token().CheckCancelled());
  if (is_taken_back) submission_.AnswerWithdrawn();
  if (is_accepted_) BeginChunks(0);
}

}  // namespace warpfold
