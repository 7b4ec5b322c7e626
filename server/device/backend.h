// Chooses the device at start: `--backend=auto|cuda|cpu`.
#ifndef WARPFOLD_SERVER_DEVICE_BACKEND_H_
#define WARPFOLD_SERVER_DEVICE_BACKEND_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/device/executor.h"

namespace warpfold {

enum class Backend { kAuto, kCuda, kCpu };

struct Devices {
  Backend backend = Backend::kCpu;  // kCuda or kCpu
  std::string reason;               // why, for the log: "no CUDA device: <driver's words>"
  std::vector<std::unique_ptr<Executor>> executors;  // at least one
};

// kAuto takes CUDA when the binary has it and a GPU answers, the CPU otherwise. kCuda fails with
// UNAVAILABLE instead of falling back. Call once, at start.
absl::StatusOr<Devices> OpenDevices(Backend backend, const LaneOptions& options);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_BACKEND_H_
