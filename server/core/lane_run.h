// One work on one lane: its task (work.h), from the lane idle to the lane idle.
//
// Step of a request: 3, on the lane's thread. Returns when the device is done with the work,
// whatever happened.
#ifndef WARPFOLD_SERVER_CORE_LANE_RUN_H_
#define WARPFOLD_SERVER_CORE_LANE_RUN_H_

#include <chrono>

#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// Runs `work` on the idle `lane` and leaves the lane idle. `queued_since` starts the queue stage.
// Does not call Done.
WorkReport RunOnLane(Lane& lane, Work& work, std::chrono::steady_clock::time_point queued_since);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_LANE_RUN_H_
