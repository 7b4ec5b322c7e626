#include "server/core/splitting/split_write.h"

#include <algorithm>
#include <utility>

namespace warpfold {

SplitWrite::SplitWrite(SplitHost& host, Task& task)
    : host_(host), whole_(task), task_(*this, CancelToken::kNoDeadline, &task.token) {
  task_.payload = this;
  task_.line = task.line;
  task_.waits_for_client = task.waits_for_client;
}

absl::Status SplitWrite::Submit() {
  task_.action = WriteTensor{shard().data, shard().size_bytes};
  return host_.SubmitTo(*shard().device, &task_);
}

bool SplitWrite::Withdraw() {
  // Not of shard() alone, which a worker's thread may be changing.
  return std::any_of(whole_.shards.begin(), whole_.shards.end(), [this](const Shard& shard) {
    return host_.WithdrawFrom(*shard.device, &task_);
  });
}

void SplitWrite::OnDone(TaskReport report) {
  report_.queue += report.queue;
  report_.receive += report.receive;
  report_.outcome = std::move(report.outcome);
  if (report_.outcome.ok() && !is_last()) {
    ++at_;
    absl::Status next = task_.token.CheckCancelled();
    if (next.ok()) next = Submit();
    if (next.ok()) return;  // this may be gone
    report_.outcome = std::move(next);
  }
  host_.End(whole_, std::move(report_));
}

}  // namespace warpfold
