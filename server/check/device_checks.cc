#include "server/check/device_checks.h"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/types.h"
#include "server/core/scheduling/device_scheduler.h"
#include "server/core/self_test/known_answer.h"
#include "server/device/device_error.h"
#include "server/system/nvml.h"

namespace warpfold {
namespace {

constexpr char kDriver[] = "driver";

std::string CodeName(const cuda::Code& code) {
  switch (code.match) {
    case cuda::CodeMatch::kMachineCode:
      return absl::StrCat("machine code ", cuda::ToString(code.compiled_for));
    case cuda::CodeMatch::kPtx:
      return absl::StrCat("PTX ", cuda::ToString(code.compiled_for));
    case cuda::CodeMatch::kNone:
      return "none";
  }
  __builtin_unreachable();
}

std::string GiB(std::int64_t bytes) {
  return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (std::int64_t{1} << 30));
}

void AskNvml(const Nvml& nvml, const Gpu& gpu, CheckedDevice& device) {
  Nvml::Device handle = nullptr;
  if (nvml.device_by_pci_bus_id == nullptr ||
      nvml.device_by_pci_bus_id(gpu.pci_bus_id.c_str(), &handle) != Nvml::kSuccess) {
    return;
  }
  if (Nvml::Memory memory{}; nvml.memory(handle, &memory) == Nvml::kSuccess) {
    device.free_bytes = static_cast<std::int64_t>(memory.free_bytes);
  }
  unsigned long long errors = 0;
  if (nvml.ecc_errors(handle, Nvml::kUncorrected, Nvml::kSinceDriverLoad, &errors) ==
      Nvml::kSuccess) {
    device.uncorrected_ecc_errors = static_cast<std::int64_t>(errors);
  }
  unsigned int current = 0;
  unsigned int pending = 0;
  if (nvml.mig_mode != nullptr && nvml.mig_mode(handle, &current, &pending) == Nvml::kSuccess) {
    device.is_mig = current != 0;
  }
}

std::string Describe(const CheckedDevice& device) {
  std::string text = absl::StrCat(device.model, ", compute capability ", device.capability, ", ",
                                  GiB(device.memory_bytes));
  if (device.free_bytes.has_value()) absl::StrAppend(&text, ", ", GiB(*device.free_bytes), " free");
  absl::StrAppend(&text, ", code: ", device.code);
  if (device.is_mig.has_value()) absl::StrAppend(&text, ", MIG ", *device.is_mig ? "on" : "off");
  return text;
}

void CheckGpu(const Gpu& gpu, const Build& build, const Nvml* nvml, CheckReport& report) {
  CheckedDevice device{
      .name = absl::StrCat("cuda:", gpu.index),
      .model = gpu.name,
      .capability = absl::StrCat(gpu.capability.major, ".", gpu.capability.minor),
      .code = build.has_cuda ? CodeName(cuda::CodeFor(gpu.capability, build.compiled)) : "none",
      .memory_bytes = gpu.memory_bytes};
  if (nvml != nullptr) AskNvml(*nvml, gpu, device);
  if (const std::string why = build.has_cuda ? WhyNoCode(gpu, build) : ""; !why.empty()) {
    report.Fail(device.name, "GPU", absl::StrCat(Describe(device), ". ", why),
                "use a build for it (WARPFOLD_CUDA_ARCHITECTURES), or hide it with "
                "CUDA_VISIBLE_DEVICES");
  } else {
    report.Ok(device.name, "GPU", Describe(device));
  }
  if (device.uncorrected_ecc_errors.has_value()) {
    const std::string text =
        absl::StrCat(*device.uncorrected_ecc_errors, " uncorrected since the driver was loaded");
    if (*device.uncorrected_ecc_errors == 0) {
      report.Ok(device.name, "ECC errors", text);
    } else {
      report.Warn(device.name, "ECC errors", text,
                  "reset the GPU; have it replaced if they come back");
    }
  }
  report.devices.push_back(std::move(device));
}

// "f32" to its 16 ops; false where the device is lost.
bool CheckAnswers(DeviceScheduler& scheduler, DType dtype, CheckReport& report) {
  const std::string check = absl::StrCat("self-test ", Name(dtype));
  const absl::Status status = CheckKnownAnswers(scheduler, dtype);
  if (status.ok()) {
    report.Ok(scheduler.device().name, check, absl::StrCat(kOpCount, " ops"));
  } else {
    report.Fail(scheduler.device().name, check, std::string(status.message()),
                "do not serve from this device: look for ECC errors and update the driver; a row "
                "of --check --report helps the project");
  }
  return !IsDeviceLost(status);
}

bool CheckKernels(Executor& executor, CheckReport& report) {
  const auto start = std::chrono::steady_clock::now();
  for (const DType dtype : kAllDTypes) {
    if (const absl::Status status = executor.LoadKernels(dtype); !status.ok()) {
      report.Fail(executor.info().name, absl::StrCat("kernels of ", Name(dtype)),
                  std::string(status.message()),
                  "free memory on the GPU, or use a build with code for it");
      return false;
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  const std::string target = executor.compiles_for();
  report.Ok(executor.info().name, "kernels",
            absl::StrCat(std::size(kAllDTypes), " dtypes, ",
                         target.empty() ? "loaded" : absl::StrCat("compiled for ", target), " in ",
                         took.count(), " ms"));
  return true;
}

void CheckDevice(const Config& config, Backend backend, Executor& executor, CheckReport& report) {
  const int workers = config.workers(backend);
  const bool is_cuda = backend == Backend::kCuda;
  const char* const check = is_cuda ? "pinned memory" : "staging memory";
  const absl::StatusOr<std::unique_ptr<DeviceScheduler>> scheduler = DeviceScheduler::Create(
      executor, {.workers = workers, .batch_workers = config.batch_workers});
  if (!scheduler.ok()) {
    report.Fail(executor.info().name, check, std::string(scheduler.status().message()),
                "lower --workers-per-device, --staging-buffers-per-worker or "
                "--staging-buffer-bytes, or end what holds "
                "the memory");
    return;
  }
  const int staging_buffers = is_cuda ? config.staging_buffers_per_worker : 1;
  report.Ok(executor.info().name, check,
            absl::StrCat(workers * staging_buffers, " x ", config.staging_buffer_bytes >> 10,
                         " KiB, ", staging_buffers, " for each of ", workers, " workers"));
  if (is_cuda && !CheckKernels(executor, report)) return;
  for (const DType dtype : kAllDTypes) {
    if (!CheckAnswers(**scheduler, dtype, report)) return;
  }
}

}  // namespace

void CheckGpus(const Machine& machine, const Build& build, const std::string& nvml_library,
               CheckReport& report) {
  report.driver_version = machine.driver_version;
  if (!machine.has_driver_library) {
    // Else OpenDevices says what is wrong.
    if (!machine.has_gpu() && !machine.library_is_broken) {
      report.Ok(kDriver, "libcuda.so.1", "none, and no GPU");
    }
    return;
  }
  if (const std::string why = build.has_cuda ? WhyTooOld(machine, build) : ""; why.empty()) {
    report.Ok(kDriver, "version",
              absl::StrCat(machine.driver_version.empty() ? "unknown" : machine.driver_version,
                           ", for CUDA up to ", machine.driver_cuda / 1000, ".",
                           machine.driver_cuda % 1000 / 10));
  }
  const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(nvml_library.c_str());
  for (const Gpu& gpu : machine.gpus) {
    CheckGpu(gpu, build, nvml.ok() ? nvml->get() : nullptr, report);
  }
}

void CheckDevices(const Config& config, const Devices& devices, CheckReport& report) {
  for (const LeftOut& gpu : devices.left_out) {
    // One without code has had its line.
    if (absl::StrContains(gpu.why, "this build has code for")) continue;
    report.Fail(gpu.name, "open", gpu.why,
                "end what holds its memory, or hide it with CUDA_VISIBLE_DEVICES");
  }
  for (const std::unique_ptr<Executor>& executor : devices.executors) {
    if (devices.backend == Backend::kCpu) {
      report.devices.push_back({.name = executor->info().name,
                                .model = executor->info().model,
                                .memory_bytes = executor->info().memory_bytes});
    }
    CheckDevice(config, devices.backend, *executor, report);
  }
}

}  // namespace warpfold
