#include "server/core/scheduling/worker_run.h"

#include <cstdint>
#include <utility>
#include <variant>

namespace warpfold {

bool WorkerRun::Turn(Worker& worker, Patience patience) {
  const Clock::time_point now = Clock::now();
  const Clock::duration waited = now - waits_since_;
  start_ = start_ == Clock::time_point{} ? now : start_ + waited;
  report_.queue += waited;
  absl::Status may_run = task_.token.CheckCancelled();
  if (may_run.ok()) may_run = task_.owner.MayRun(report_.queue);
  if (!may_run.ok()) {
    report_.outcome = may_run;
    return true;
  }
  End end =
      std::visit([&](const auto& action) { return Run(worker, action, patience); }, task_.action);
  if (!end.has_value()) return false;
  report_.outcome = *std::move(end);
  return true;
}

WorkerRun::End WorkerRun::Run(Worker& worker, const ReducePayload& /*reduce*/, Patience patience) {
  const Plan& plan = *task_.plan;
  std::optional<absl::Status> received = Receive(
      worker, plan.input_bytes, [&] { return worker.Begin(plan); }, patience);
  if (!received.has_value()) return std::nullopt;
  if (!received->ok()) return *std::move(received);
  return worker.Finish();
}

WorkerRun::End WorkerRun::Run(Worker& worker, const WriteTensor& write, Patience patience) {
  std::optional<absl::Status> status = Receive(
      worker, write.size_bytes,
      [&] { return worker.BeginWrite(write.to, static_cast<std::size_t>(write.size_bytes)); },
      patience);
  if (!status.has_value()) return std::nullopt;
  if (status->ok()) *status = worker.FinishWrite();
  if (!status->ok()) return *std::move(status);
  return Outcome{};
}

std::optional<absl::Status> WorkerRun::Receive(Worker& worker, std::int64_t bytes,
                                               absl::FunctionRef<absl::Status()> begin,
                                               Patience patience) {
  if (!staging_.has_value()) staging_.emplace(task_.token, *task_.payload, bytes);
  const absl::StatusOr<bool> staged = staging_->Turn(worker, begin, patience);
  if (staged.ok() && !*staged) {
    awaited_bytes_ = staging_->awaited_bytes();
    return std::nullopt;
  }
  report_.receive = Clock::now() - start_;
  if (!staged.ok()) return staged.status();
  absl::Status end = task_.payload->ExpectEnd();
  if (!end.ok()) worker.Abandon();
  return end;
}

WorkerRun::End WorkerRun::Run(Worker& worker, const ReduceTensor& tensor, Patience /*patience*/) {
  return worker.Reduce(*task_.plan, tensor.data);
}

WorkerRun::End WorkerRun::Run(Worker& /*worker*/, const RunOnHost& host, Patience /*patience*/) {
  return host.run();
}

WorkerRun::End WorkerRun::Run(Worker& worker, const UseWorker& use, Patience /*patience*/) {
  return use.run(worker);
}

}  // namespace warpfold
