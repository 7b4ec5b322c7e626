// The driver, its GPUs, and every device as the server would open it: memory, kernels, known
// answers.
#ifndef WARPFOLD_SERVER_CHECK_DEVICE_CHECKS_H_
#define WARPFOLD_SERVER_CHECK_DEVICE_CHECKS_H_

#include <string>

#include "server/check/report.h"
#include "server/config.h"
#include "server/device/backend/backend.h"
#include "server/device/backend/build.h"
#include "server/device/backend/machine.h"

namespace warpfold {

// The driver and a line for each GPU that it lists, with what NVML (`nvml_library`) adds.
void CheckGpus(const Machine& machine, const Build& build, const std::string& nvml_library,
               CheckReport& report);

// Makes every stream of `devices`, loads their kernels and asks the known questions: as the server
// does at its start, and as long.
void CheckDevices(const Config& config, const Devices& devices, CheckReport& report);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_DEVICE_CHECKS_H_
