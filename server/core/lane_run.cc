#include "server/core/lane_run.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/part_run.h"
#include "server/core/stage.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

WorkReport RunOnLane(Lane& lane, Work& work, Clock::time_point queued_since) {
  WorkReport report;
  const Clock::time_point start = Clock::now();
  report.queue = start - queued_since;
  if (absl::Status wanted = work.Wanted(); !wanted.ok()) {
    report.outcome = wanted;
    return report;
  }
  if (std::optional<absl::StatusOr<Outcome>> answer = work.AnswerOnHost(); answer.has_value()) {
    report.outcome = *std::move(answer);
    return report;
  }
  if (const Part* part = work.part(); part != nullptr) {
    report.outcome = ReducePart(lane, work, *part);
    report.receive = Clock::now() - start;
    return report;
  }
  absl::Status status = lane.Begin(work.plan());
  if (!status.ok()) {
    lane.Abandon();
    report.outcome = status;
    return report;
  }
  work.payload().Open();
  status = Stage(lane, work, work.payload(), work.plan().input_bytes);
  if (status.ok()) status = work.payload().ExpectEnd();
  report.receive = Clock::now() - start;
  if (!status.ok()) {
    lane.Abandon();
    report.outcome = status;
    return report;
  }
  report.outcome = lane.Finish();
  return report;
}

}  // namespace warpfold
