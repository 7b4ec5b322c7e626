#include "server/device/backend/backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/device/cpu/cpu_executor.h"
#ifdef WARPFOLD_HAS_CUDA
#include "server/device/cuda/cuda_executor.h"
#endif

namespace warpfold {
namespace {

absl::StatusOr<std::unique_ptr<Executor>> OpenCuda([[maybe_unused]] int index,
                                                   [[maybe_unused]] const WorkerOptions& options) {
#ifdef WARPFOLD_HAS_CUDA
  return CudaExecutor::Open(index, options);
#else
  return absl::UnavailableError("this build has no CUDA backend");
#endif
}

Devices OpenCpu(std::string reason, const WorkerOptions& options) {
  Devices devices{.backend = Backend::kCpu, .reason = std::move(reason)};
  devices.executors.push_back(std::make_unique<CpuExecutor>(options));
  return devices;
}

}  // namespace

absl::StatusOr<Devices> OpenDevices(Backend backend, const WorkerOptions& options) {
  if (backend == Backend::kCpu) return OpenCpu("chosen by configuration", options);
  return OpenDevicesOn(ReadMachine(), ThisBuild(), OpenCuda, backend, options);
}

absl::StatusOr<Devices> OpenDevicesOn(const Machine& machine, const Build& build,
                                      const OpenGpu& open, Backend backend,
                                      const WorkerOptions& options) {
  DeviceChoice choice = ChooseDevices(backend, machine, build);
  switch (choice.kind) {
    case DeviceChoice::Kind::kCpu:
      return OpenCpu(std::move(choice.reason), options);
    case DeviceChoice::Kind::kRefuse:
      return absl::UnavailableError(choice.reason);
    case DeviceChoice::Kind::kCuda:
      break;
  }
  Devices devices{.backend = Backend::kCuda, .left_out = std::move(choice.left_out)};
  for (const int index : choice.gpus) {
    absl::StatusOr<std::unique_ptr<Executor>> executor = open(index, options);
    if (executor.ok()) {
      devices.executors.push_back(*std::move(executor));
    } else {
      devices.left_out.push_back(
          {.name = absl::StrCat("cuda:", index),
           .why = absl::StrCat("GPU ", index, ": ", executor.status().message())});
    }
  }
  if (devices.executors.empty()) {
    return absl::UnavailableError(absl::StrCat(
        absl::StrJoin(devices.left_out, ". ",
                      [](std::string* out, const LeftOut& gpu) { absl::StrAppend(out, gpu.why); }),
        kAskForCpu));
  }
  devices.reason = absl::StrCat(devices.executors.size(), " of ",
                                devices.executors.size() + devices.left_out.size(), " GPUs");
  return devices;
}

}  // namespace warpfold
