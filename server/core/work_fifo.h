// Works that wait, the oldest first, any of which can be taken back.
//
// Step of a request: 2, decide.
#ifndef WARPFOLD_SERVER_CORE_WORK_FIFO_H_
#define WARPFOLD_SERVER_CORE_WORK_FIFO_H_

#include <chrono>

#include "server/core/keyed_fifo.h"
#include "server/core/work.h"

namespace warpfold {

// A work, and when its queue stage began.
struct QueuedWork {
  Work* work = nullptr;
  std::chrono::steady_clock::time_point since;
};

inline const Work* KeyOf(const QueuedWork& queued) { return queued.work; }

using WorkFifo = KeyedFifo<QueuedWork>;

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_WORK_FIFO_H_
