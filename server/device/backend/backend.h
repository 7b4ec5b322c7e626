// Chooses the device at start: `--backend=auto|cuda|cpu`.
#ifndef WARPFOLD_SERVER_DEVICE_BACKEND_BACKEND_H_
#define WARPFOLD_SERVER_DEVICE_BACKEND_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/device/backend/device_choice.h"
#include "server/device/executor.h"

namespace warpfold {

struct Devices {
  Backend backend = Backend::kCpu;  // kCuda or kCpu
  std::string reason;               // why, for the log: "no GPU: no /dev/nvidia*, ..."
  std::vector<std::unique_ptr<Executor>> executors;  // at least one
  std::vector<LeftOut> left_out;                     // GPUs that are here and do not serve
};

// kAuto takes the GPUs, and the CPU only where no GPU is present. kCuda takes the GPUs, kCpu looks
// for none. A GPU that cannot be used while another can is left out. UNAVAILABLE, with what is
// there and what would be needed: no device can be had without passing over a GPU in silence
// (device_choice.h). Call once, at start.
absl::StatusOr<Devices> OpenDevices(Backend backend, const WorkerOptions& options);

// The same on what `machine` and `build` say. `open` opens the GPU of an index.
using OpenGpu = std::function<absl::StatusOr<std::unique_ptr<Executor>>(
    int index, const WorkerOptions& options)>;
absl::StatusOr<Devices> OpenDevicesOn(const Machine& machine, const Build& build,
                                      const OpenGpu& open, Backend backend,
                                      const WorkerOptions& options);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_BACKEND_BACKEND_H_
