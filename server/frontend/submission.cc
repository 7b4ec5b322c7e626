#include "server/frontend/submission.h"

#include <utility>

#include "absl/status/statusor.h"

namespace warpfold {

absl::Status Submission::Start(const HeldBytes& held) {
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Admit(held);
  if (!ticket.ok()) return ticket.status();
  ticket_ = *std::move(ticket);
  absl::Status queued = services_.scheduler.Submit(this);
  // On OK a lane may already be at work, or done and `this` gone: touch nothing.
  if (!queued.ok()) ticket_.Release();
  return queued;
}

absl::Status Submission::Wanted() const {
  if (std::chrono::system_clock::now() >= deadline_) {
    return absl::DeadlineExceededError("the deadline has passed");
  }
  if (cancelled_.load(std::memory_order_relaxed)) {
    return absl::CancelledError("the client cancelled the request");
  }
  return absl::OkStatus();
}

bool Submission::Withdraw() {
  cancelled_.store(true, std::memory_order_relaxed);
  return services_.scheduler.Withdraw(this);
}

void Submission::AnswerWithdrawn() {
  WorkReport report;
  report.outcome = Wanted();
  Done(std::move(report));
}

}  // namespace warpfold
