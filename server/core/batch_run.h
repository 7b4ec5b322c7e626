// Several small works on one batch lane, each with its own end.
//
// Step of a request: 3, on the thread that took them. Returns when the device is done with all.
#ifndef WARPFOLD_SERVER_CORE_BATCH_RUN_H_
#define WARPFOLD_SERVER_CORE_BATCH_RUN_H_

#include <chrono>
#include <vector>

#include "absl/types/span.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// A work, and when its queue stage began.
struct QueuedWork {
  Work* work = nullptr;
  std::chrono::steady_clock::time_point since;
};

// Runs `works` on the empty `lane` and leaves it empty: in one batch, or in more where the lane
// holds fewer. One report for each, in order; what is no longer wanted, or whose payload fails,
// ends alone. Does not call Done. REQUIRES, of each: its task is ReducePayload, its device batches
// its plan, and all of its bytes are here.
std::vector<WorkReport> RunBatch(BatchLane& lane, absl::Span<const QueuedWork> works);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BATCH_RUN_H_
