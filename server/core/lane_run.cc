#include "server/core/lane_run.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/part_run.h"
#include "server/core/stage.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

// One task on a lane that was idle, each kind in its own way, and the time until its last byte was
// staged.
class TaskRun {
 public:
  TaskRun(Lane& lane, Work& work) : lane_(lane), work_(work) {}

  absl::StatusOr<Outcome> operator()(const ReducePayload& /*task*/) {
    const Plan& plan = work_.plan();
    if (absl::Status status = Receive(lane_.Begin(plan), plan.input_bytes); !status.ok()) {
      return status;
    }
    return lane_.Finish();
  }

  absl::StatusOr<Outcome> operator()(const ReducePart& task) {
    absl::StatusOr<Outcome> values = RunPart(lane_, work_, *task.part);
    receive_ = Clock::now() - start_;
    return values;
  }

  absl::StatusOr<Outcome> operator()(const ReduceTensor& task) {
    return lane_.Reduce(work_.plan(), task.data);
  }

  absl::StatusOr<Outcome> operator()(const WriteTensor& task) {
    absl::Status begun = lane_.BeginWrite(task.to, static_cast<std::size_t>(task.size_bytes));
    absl::Status status = Receive(std::move(begun), task.size_bytes);
    if (status.ok()) status = lane_.FinishWrite();
    if (!status.ok()) return status;
    return Outcome{};
  }

  absl::StatusOr<Outcome> operator()(const RunOnHost& task) { return task.run(); }

  absl::StatusOr<Outcome> operator()(const UseLane& task) { return task.run(lane_); }

  std::chrono::nanoseconds receive() const { return receive_; }

 private:
  // Fills the lane if it has `begun`, and abandons it when anything fails.
  absl::Status Receive(absl::Status begun, std::int64_t bytes) {
    if (begun.ok()) {
      work_.payload().Open();
      begun = Stage(lane_, work_, work_.payload(), bytes);
      if (begun.ok()) begun = work_.payload().ExpectEnd();
      receive_ = Clock::now() - start_;
    }
    if (!begun.ok()) lane_.Abandon();
    return begun;
  }

  Lane& lane_;
  Work& work_;
  const Clock::time_point start_ = Clock::now();
  std::chrono::nanoseconds receive_{0};
};

}  // namespace

WorkReport RunOnLane(Lane& lane, Work& work, Clock::time_point queued_since) {
  WorkReport report;
  report.queue = Clock::now() - queued_since;
  if (absl::Status wanted = work.Wanted(); !wanted.ok()) {
    report.outcome = wanted;
    return report;
  }
  TaskRun run(lane, work);
  report.outcome = std::visit(run, work.task());
  report.receive = run.receive();
  return report;
}

}  // namespace warpfold
