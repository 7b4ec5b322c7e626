#include "server/check/check.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/check/device_checks.h"
#include "server/check/host_checks.h"
#include "server/device/backend/backend.h"
#include "server/device/backend/build.h"
#include "server/device/backend/machine.h"
#include "server/open_files.h"
#include "server/thread_limit.h"

namespace warpfold {

CheckReport CheckAll(const Config& config) {
  CheckReport report;
  // First, and alone where it fails: what follows needs threads too.
  const Backend served_by = config.backend == Backend::kCpu ? Backend::kCpu : Backend::kCuda;
  CheckThreads(ThreadsNeeded(config.workers(served_by)), report);
  if (!report.ok()) return report;
  if (config.backend != Backend::kCpu) {
    CheckGpus(ReadMachine(), ThisBuild(), MachinePlaces().nvml_library, report);
  }
  CheckOpenFiles(OpenFilesLimit().hard, report);
  CheckPorts(config, report);
  CheckTls(config, report);
  CheckCallers(config, report);
  CheckPortFile(config, report);
  const absl::StatusOr<Devices> devices = OpenDevices(config.backend, config.worker_options());
  if (!devices.ok()) {
    // "what is there, and what would be needed; --backend=cpu asks for the CPU"
    const std::string message(devices.status().message());
    const std::size_t semicolon = message.rfind("; ");
    report.Fail("devices", "backend", message.substr(0, semicolon),
                semicolon == std::string::npos ? "" : message.substr(semicolon + 2));
    return report;
  }
  report.backend = devices->backend == Backend::kCuda ? "cuda" : "cpu";
  report.Ok("devices", "backend", absl::StrCat(report.backend, ": ", devices->reason));
  CheckMemory(config, devices->backend, static_cast<int>(devices->executors.size()),
              ReadMemoryLimit(), report);
  if (std::any_of(devices->executors.begin(), devices->executors.end(),
                  [](const auto& executor) { return !executor->compiles_for().empty(); })) {
    CheckKernelCache(report);
  }
  CheckDevices(config, *devices, report);
  return report;
}

}  // namespace warpfold
