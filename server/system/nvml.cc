#include "server/system/nvml.h"

#include <dlfcn.h>

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

// Points `*function` at the library's symbol; false when it has none.
template <typename Function>
bool Find(void* library, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, symbol));
  return *function != nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const char* library) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return absl::NotFoundError(dlerror());
  std::unique_ptr<Nvml> nvml(new Nvml(opened));
  if (absl::Status status = nvml->Load(); !status.ok()) return status;
  return nvml;
}

Nvml::~Nvml() {
  if (shutdown_ != nullptr) shutdown_();
  dlclose(library_);
}

std::string Nvml::DriverVersion() const {
  std::array<char, 96> text{};
  if (driver_version == nullptr || driver_version(text.data(), text.size() - 1) != kSuccess) {
    return "";
  }
  return text.data();
}

absl::Status Nvml::Load() {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const bool complete =
      Find(library_, "nvmlInit_v2", &init) && Find(library_, "nvmlShutdown", &shutdown) &&
      Find(library_, "nvmlDeviceGetCount_v2", &device_count) &&
      Find(library_, "nvmlDeviceGetHandleByIndex_v2", &device_by_index) &&
      Find(library_, "nvmlDeviceGetName", &name) && Find(library_, "nvmlDeviceGetUUID", &uuid) &&
      Find(library_, "nvmlDeviceGetMemoryInfo", &memory) &&
      Find(library_, "nvmlDeviceGetUtilizationRates", &utilization) &&
      Find(library_, "nvmlDeviceGetTemperature", &temperature_celsius) &&
      Find(library_, "nvmlDeviceGetPowerUsage", &power_milliwatts) &&
      Find(library_, "nvmlDeviceGetTotalEccErrors", &ecc_errors) &&
      Find(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", &throttle_reasons);
  if (!complete) return absl::UnavailableError("NVML lacks a function");
  Find(library_, "nvmlSystemGetDriverVersion", &driver_version);
  Find(library_, "nvmlDeviceGetHandleByPciBusId_v2", &device_by_pci_bus_id);
  Find(library_, "nvmlDeviceGetMigMode", &mig_mode);
  if (const int code = init(); code != kSuccess) {
    return absl::UnavailableError(absl::StrCat("NVML does not start: code ", code));
  }
  shutdown_ = shutdown;
  return absl::OkStatus();
}

}  // namespace warpfold
