// From "the port is open" to "ready": loads every kernel onto every device, compiled first where
// the driver has to, and asks each device the known questions. Nobody is served meanwhile.
//
// A device that fails is lost for the scheduler, and the others go on.
#ifndef WARPFOLD_SERVER_STARTUP_H_
#define WARPFOLD_SERVER_STARTUP_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/core/admission/admission.h"
#include "server/core/scheduling/scheduler.h"
#include "server/device/executor.h"
#include "server/observe/log/log.h"

namespace warpfold {

struct StartupParts {
  const std::vector<std::unique_ptr<Executor>>& executors;
  Scheduler& scheduler;
  AdmissionController& admission;  // held back; told the stage
  Log& log;
  // Asked between the kernels of two dtypes, on the caller's thread: true ends the startup.
  std::function<bool()> stop_requested;
};

// Waits until each device is ready or lost. CANCELLED: a stop was requested. Otherwise the last
// device's status when none is ready.
absl::Status MakeDevicesReady(const StartupParts& parts);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_STARTUP_H_
