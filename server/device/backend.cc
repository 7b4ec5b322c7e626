#include "server/device/backend.h"

#include "absl/strings/str_cat.h"
#include "server/device/cpu/cpu_executor.h"
#ifdef WARPFOLD_HAS_CUDA
#include "server/device/cuda/cuda_executor.h"
#endif

namespace warpfold {
namespace {

absl::StatusOr<std::vector<std::unique_ptr<Executor>>> OpenCuda(
    [[maybe_unused]] const LaneOptions& options) {
#ifdef WARPFOLD_HAS_CUDA
  return OpenCudaExecutors(options);
#else
  return absl::UnavailableError("this binary was built without CUDA");
#endif
}

}  // namespace

absl::StatusOr<Devices> OpenDevices(Backend backend, const LaneOptions& options) {
  Devices devices;
  if (backend == Backend::kCpu) {
    devices.reason = "chosen by configuration";
  } else {
    absl::StatusOr<std::vector<std::unique_ptr<Executor>>> cuda = OpenCuda(options);
    if (cuda.ok()) {
      devices.backend = Backend::kCuda;
      devices.reason = absl::StrCat(cuda->size(), " CUDA device(s) found");
      devices.executors = *std::move(cuda);
      return devices;
    }
    if (backend == Backend::kCuda) return cuda.status();
    devices.reason = std::string(cuda.status().message());
  }
  devices.backend = Backend::kCpu;
  devices.executors.push_back(std::make_unique<CpuExecutor>(options));
  return devices;
}

}  // namespace warpfold
