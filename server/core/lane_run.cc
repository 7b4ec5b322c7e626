#include "server/core/lane_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

// Moves the payload's `missing_bytes` into the lane, one buffer at a time; whether the answer is
// still wanted is asked before each.
absl::Status Stage(Lane& lane, Work& work, std::int64_t missing_bytes) {
  PayloadSource& payload = work.payload();
  payload.Open();
  while (missing_bytes > 0) {
    if (absl::Status wanted = work.Wanted(); !wanted.ok()) return wanted;
    absl::StatusOr<absl::Span<std::byte>> buffer = lane.Buffer();
    if (!buffer.ok()) return buffer.status();
    const std::size_t byte_count =
        std::min(buffer->size(), static_cast<std::size_t>(missing_bytes));
    if (absl::Status read = payload.ReadInto(buffer->first(byte_count)); !read.ok()) return read;
    if (absl::Status committed = lane.Commit(byte_count); !committed.ok()) return committed;
    missing_bytes -= static_cast<std::int64_t>(byte_count);
  }
  return payload.ExpectEnd();
}

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

  std::chrono::nanoseconds receive() const { return receive_; }

 private:
  // Fills the lane if it has `begun`, and abandons it when anything fails.
  absl::Status Receive(absl::Status begun, std::int64_t bytes) {
    if (begun.ok()) {
      begun = Stage(lane_, work_, bytes);
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
