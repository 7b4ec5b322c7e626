// A reduction whose answer is known to the bit: what a device has to give before it serves.
//
// Step of a request: none; it runs once at the start, through the same queue, lane and kernels that
// requests take. The tensor's sums depend on the order of additions, so a device that adds in
// another order is found too. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_
#define WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/plan.h"
#include "server/core/device_scheduler.h"

namespace warpfold {

// What is asked, of which elements, and the bytes of each op's result.
ReduceSpec KnownQuestion();
std::vector<double> KnownElements();
std::vector<std::string> KnownAnswer();

// Asks `device` and waits for its answer, however long that takes. INTERNAL: its bits are wrong;
// otherwise the device's own status. The message names the device.
absl::Status CheckKnownAnswer(DeviceScheduler& device);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_
