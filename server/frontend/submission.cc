#include "server/frontend/submission.h"

#include <utility>

#include "absl/status/statusor.h"

namespace warpfold {

absl::Status Submission::Start(const HeldBytes& held) {
  absl::Status queued = Admit(held);
  if (queued.ok()) queued = services_.scheduler.Submit(&task_);
  // On OK a worker may already be at it, or done and `this` gone: touch nothing.
  if (!queued.ok()) ticket_.Release();
  return queued;
}

absl::Status Submission::Admit(const HeldBytes& held) {
  if (ticket_.is_expected()) return services_.admission.Admit(held, &ticket_);
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Admit(held, requester_.use.get());
  if (!ticket.ok()) return ticket.status();
  ticket_ = *std::move(ticket);
  return absl::OkStatus();
}

absl::Status Submission::Expect(const HeldBytes& held) {
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Expect(held, requester_.use.get());
  if (!ticket.ok()) return ticket.status();
  absl::Status room = services_.scheduler.CheckRoom(task_);
  if (room.ok()) room = services_.admission.CheckLanes(requester_.use.get());
  if (!room.ok()) return room;
  ticket_ = *std::move(ticket);
  return absl::OkStatus();
}

absl::Status Submission::MayRun(std::chrono::nanoseconds waited) {
  const std::chrono::milliseconds limit = services_.limits.Get().queue_timeout;
  return queued_before_ + waited <= limit ? absl::OkStatus()
                                          : services_.admission.RefuseQueued(limit);
}

bool Submission::Withdraw() {
  token().Cancel(services_.drain_end.WhyCancelled());
  return services_.scheduler.Withdraw(&task_);
}

void Submission::AnswerWithdrawn() {
  TaskReport report;
  report.outcome = token().CheckCancelled();
  OnDone(std::move(report));
}

}  // namespace warpfold
