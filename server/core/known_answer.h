// Reductions whose answers are known to the bit: what a device has to give before it serves.
//
// Step of a request: none; they run once at the start, through the same queue, lanes and kernels
// that requests take: one through a lane, one that is small enough for a batch. The tensors' sums
// depend on the order of additions, so a device that adds in another order is found too. Safe from
// any thread.
#ifndef WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_
#define WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/plan.h"
#include "server/core/device_scheduler.h"

namespace warpfold {

// What is asked, and the bytes of each op's result.
struct KnownReduction {
  ReduceSpec question;
  std::vector<std::string> answer;
};
std::vector<KnownReduction> KnownReductions();
// The first `count` elements, of all of them.
std::vector<double> KnownElements(std::int64_t count);

// Asks `device` all of them and waits for its answers, however long that takes. INTERNAL: its bits
// are wrong; otherwise the device's own status. The message names the device.
absl::Status CheckKnownAnswer(DeviceScheduler& device);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_KNOWN_ANSWER_H_
