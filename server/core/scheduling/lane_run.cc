#include "server/core/scheduling/lane_run.h"

#include <cstdint>
#include <utility>
#include <variant>

namespace warpfold {

bool LaneRun::Turn(Lane& lane, Patience patience) {
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
      std::visit([&](const auto& action) { return Run(lane, action, patience); }, task_.action);
  if (!end.has_value()) return false;
  report_.outcome = *std::move(end);
  return true;
}

LaneRun::End LaneRun::Run(Lane& lane, const ReducePayload& /*reduce*/, Patience patience) {
  const Plan& plan = *task_.plan;
  std::optional<absl::Status> received = Receive(
      lane, plan.input_bytes, [&] { return lane.Begin(plan); }, patience);
  if (!received.has_value()) return std::nullopt;
  if (!received->ok()) return *std::move(received);
  return lane.Finish();
}

LaneRun::End LaneRun::Run(Lane& lane, const WriteTensor& write, Patience patience) {
  std::optional<absl::Status> status = Receive(
      lane, write.size_bytes,
      [&] { return lane.BeginWrite(write.to, static_cast<std::size_t>(write.size_bytes)); },
      patience);
  if (!status.has_value()) return std::nullopt;
  if (status->ok()) *status = lane.FinishWrite();
  if (!status->ok()) return *std::move(status);
  return Outcome{};
}

std::optional<absl::Status> LaneRun::Receive(Lane& lane, std::int64_t bytes,
                                             absl::FunctionRef<absl::Status()> begin,
                                             Patience patience) {
  if (!staging_.has_value()) staging_.emplace(task_.token, *task_.payload, bytes);
  const absl::StatusOr<bool> staged = staging_->Turn(lane, begin, patience);
  if (staged.ok() && !*staged) {
    awaited_bytes_ = staging_->awaited_bytes();
    return std::nullopt;
  }
  report_.receive = Clock::now() - start_;
  if (!staged.ok()) return staged.status();
  absl::Status end = task_.payload->ExpectEnd();
  if (!end.ok()) lane.Abandon();
  return end;
}

LaneRun::End LaneRun::Run(Lane& lane, const ReduceTensor& tensor, Patience /*patience*/) {
  return lane.Reduce(*task_.plan, tensor.data);
}

LaneRun::End LaneRun::Run(Lane& /*lane*/, const RunOnHost& host, Patience /*patience*/) {
  return host.run();
}

LaneRun::End LaneRun::Run(Lane& lane, const UseLane& use, Patience /*patience*/) {
  return use.run(lane);
}

}  // namespace warpfold
