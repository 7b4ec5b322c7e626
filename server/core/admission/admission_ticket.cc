// A ticket's side of admission.h.
#include <utility>

#include "absl/status/status.h"
#include "server/core/admission/admission.h"

namespace warpfold {

AdmissionTicket& AdmissionTicket::operator=(AdmissionTicket&& other) noexcept {
  if (this != &other) {
    Release();
    has_ = std::exchange(other.has_, {});
  }
  return *this;
}

AdmissionTicket::~AdmissionTicket() { Release(); }

absl::Status AdmissionTicket::TryHold(const HeldBytes& held) {
  if (has_.controller == nullptr) return absl::OkStatus();
  absl::MutexLock lock(&has_.controller->mutex_);
  absl::Status room = has_.controller->CheckMore(held, has_.use);
  if (room.ok()) has_.controller->Hold(held, this);
  return room;
}

absl::Status AdmissionTicket::TryHoldAnswer(std::int64_t answer_bytes) {
  if (has_.controller == nullptr || answer_bytes <= kTinyAnswerBytes) return absl::OkStatus();
  absl::MutexLock lock(&has_.controller->mutex_);
  absl::Status room = has_.controller->CheckAnswer(has_.bytes, answer_bytes);
  if (room.ok()) has_.controller->Hold({.results = answer_bytes}, this);
  return room;
}

void AdmissionTicket::Drop(std::int64_t bytes) {
  if (has_.controller == nullptr) return;
  absl::MutexLock lock(&has_.controller->mutex_);
  has_.controller->HoldMore(-bytes, this);
}

void AdmissionTicket::Answered(std::int64_t answer_bytes, std::int64_t call_bytes) {
  if (has_.controller != nullptr) has_.controller->Answered(this, answer_bytes, call_bytes);
}

absl::Status AdmissionTicket::RefuseBeyond(std::int64_t bytes_max) {
  // Without one whoever holds it is being refused already.
  return has_.controller == nullptr ? absl::OkStatus() : has_.controller->RefuseBeyond(bytes_max);
}

absl::Status AdmissionTicket::TakeWorker() {
  if (has_.controller == nullptr) return absl::OkStatus();
  absl::MutexLock lock(&has_.controller->mutex_);
  absl::Status room = has_.controller->CheckWorkersLocked(has_.use);
  if (room.ok()) {
    has_.needs_worker = true;
    ++has_.controller->state_.worker_requests;
    if (has_.use != nullptr) ++has_.use->worker_requests;
  }
  return room;
}

void AdmissionTicket::Release() {
  if (has_.controller == nullptr) return;
  has_.controller->Return(this);
  has_ = {};
}

}  // namespace warpfold
