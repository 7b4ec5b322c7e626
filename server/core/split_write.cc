#include "server/core/split_write.h"

#include <algorithm>
#include <utility>

namespace warpfold {

SplitWrite::SplitWrite(SplitHost& host, Work& work, const WriteShards& task)
    : Work(CancelToken::kNoDeadline, &work.token()), host_(host), work_(work), task_(task) {}

absl::Status SplitWrite::Submit() { return host_.SubmitTo(*shard().device, this); }

bool SplitWrite::Withdraw() {
  // Not of shard() alone, which a lane's thread may be changing.
  return std::any_of(task_.shards.begin(), task_.shards.end(), [this](const Shard& shard) {
    return host_.WithdrawFrom(*shard.device, this);
  });
}

void SplitWrite::Done(WorkReport report) {
  report_.queue += report.queue;
  report_.receive += report.receive;
  report_.outcome = std::move(report.outcome);
  if (report_.outcome.ok() && !is_last()) {
    ++at_;
    absl::Status next = token().CheckCancelled();
    if (next.ok()) next = Submit();
    if (next.ok()) return;  // this may be gone
    report_.outcome = std::move(next);
  }
  host_.End(work_, std::move(report_));
}

}  // namespace warpfold
