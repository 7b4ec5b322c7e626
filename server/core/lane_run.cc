#include "server/core/lane_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

// Moves all payload bytes into the lane, one buffer at a time; whether the answer is still wanted
// is asked before each.
absl::Status Stage(Lane& lane, Work& work) {
  PayloadSource& payload = work.payload();
  std::int64_t missing_bytes = work.plan().input_bytes;
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

}  // namespace

WorkReport RunOnLane(Lane& lane, Work& work, Clock::time_point queued_since) {
  WorkReport report;
  const Clock::time_point start = Clock::now();
  report.queue = start - queued_since;
  if (absl::Status wanted = work.Wanted(); !wanted.ok()) {
    report.outcome = wanted;
    return report;
  }
  absl::Status status = lane.Begin(work.plan());
  if (!status.ok()) {
    lane.Abandon();
    report.outcome = status;
    return report;
  }
  work.payload().Open();
  status = Stage(lane, work);
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
