#include "server/frontend/requests/submission.h"

#include <utility>

#include "absl/status/statusor.h"

namespace warpfold {

absl::Status Submission::Start(const HeldBytes& held) {
  absl::Status started = Admit(held);
  if (started.ok()) started = Queue();
  return started;
}

absl::Status Submission::Admit(const HeldBytes& held) {
  if (ticket_.is_expected()) {
    absl::Status admitted = services_.admission.Admit(held, &ticket_);
    if (!admitted.ok()) ticket_.Release();
    return admitted;
  }
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Admit(held, caller_.use.get());
  if (!ticket.ok()) return ticket.status();
  ticket_ = *std::move(ticket);
  return absl::OkStatus();
}

absl::Status Submission::Queue() {
  absl::Status queued = services_.scheduler.Submit(&task_);
  // On OK a worker may already be at it, or done and `this` gone: touch nothing.
  if (!queued.ok()) ticket_.Release();
  return queued;
}

absl::Status Submission::Expect(const HeldBytes& held) {
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Expect(held, caller_.use.get());
  if (!ticket.ok()) return ticket.status();
  absl::Status room = services_.scheduler.CheckRoom(task_);
  if (room.ok()) room = services_.admission.CheckWorkers(caller_.use.get());
  if (!room.ok()) return room;
  ticket_ = *std::move(ticket);
  return absl::OkStatus();
}

absl::Status Submission::MayRun(std::chrono::nanoseconds waited) {
  const std::chrono::milliseconds limit = services_.limits.Get().queue_timeout;
  return queued_before_ + waited <= limit ? absl::OkStatus()
                                          : services_.admission.RefuseQueued(limit);
}

void Submission::OnDone(TaskReport report) {
  report.queue += queued_before_;
  owner_.OnDone(std::move(report));
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
