#include "server/core/batch_run.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

class BatchRun {
 public:
  BatchRun(BatchLane& lane, absl::Span<const QueuedWork> works)
      : lane_(lane), works_(works), reports_(works.size()) {}

  std::vector<WorkReport> Run() {
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < works_.size(); ++i) {
      reports_[i].queue = start - works_[i].since;
      const absl::Status staged = Stage(i);
      if (!staged.ok()) reports_[i].outcome = staged;
      reports_[i].receive = Clock::now() - start;
    }
    Finish();
    return std::move(reports_);
  }

 private:
  // Work `i` onto the lane, or why not.
  absl::Status Stage(std::size_t i) {
    Work& work = *works_[i].work;
    if (absl::Status wanted = work.Wanted(); !wanted.ok()) return wanted;
    std::optional<absl::Span<std::byte>> buffer = lane_.Add(work.plan());
    if (!buffer.has_value()) {
      Finish();
      buffer = lane_.Add(work.plan());
    }
    if (!buffer.has_value()) return absl::InternalError("a tensor does not fit in a batch alone");
    work.payload().Open();
    absl::Status read = work.payload().ReadInto(*buffer);
    if (read.ok()) read = work.payload().ExpectEnd();
    if (!read.ok()) {
      lane_.DropLast();
      return read;
    }
    staged_.push_back(i);
    return absl::OkStatus();
  }

  void Finish() {
    std::vector<absl::StatusOr<Outcome>> outcomes = lane_.Finish();
    for (std::size_t k = 0; k < staged_.size(); ++k) {
      reports_[staged_[k]].outcome = std::move(outcomes[k]);
    }
    staged_.clear();
  }

  BatchLane& lane_;
  absl::Span<const QueuedWork> works_;
  std::vector<WorkReport> reports_;
  std::vector<std::size_t> staged_;  // the works on the lane, in its order
};

}  // namespace

std::vector<WorkReport> RunBatch(BatchLane& lane, absl::Span<const QueuedWork> works) {
  return BatchRun(lane, works).Run();
}

}  // namespace warpfold
