// The few functions of NVML (libnvidia-ml.so.1, part of the GPU driver) that the metrics,
// the start and --check need, by their documented C signatures.
//
// Declared here instead of taken from nvml.h, so that the build needs no CUDA. NVML itself is safe
// from any thread.
#ifndef WARPFOLD_SERVER_SYSTEM_NVML_H_
#define WARPFOLD_SERVER_SYSTEM_NVML_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace warpfold {

class Nvml {
 public:
  using Device = struct Opaque*;
  struct Memory {
    unsigned long long total_bytes, free_bytes, used_bytes;
  };
  struct Utilization {
    unsigned int gpu_percent, memory_percent;
  };
  static constexpr int kSuccess = 0;
  static constexpr int kTemperatureOfGpu = 0;
  static constexpr int kCorrected = 0, kUncorrected = 1;
  static constexpr int kSinceDriverLoad = 0, kSinceEver = 1;

  // Opens and initialises the library. NOT_FOUND: there is none; UNAVAILABLE: it does not work.
  // Both say why.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // "580.65.06"; empty when it does not say.
  std::string DriverVersion() const;

  // Each returns kSuccess or NVML's code of what is wrong, often "not supported".
  int (*device_count)(unsigned int*) = nullptr;
  int (*device_by_index)(unsigned int, Device*) = nullptr;
  int (*name)(Device, char*, unsigned int) = nullptr;
  int (*uuid)(Device, char*, unsigned int) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*temperature_celsius)(Device, int sensor, unsigned int*) = nullptr;
  int (*power_milliwatts)(Device, unsigned int*) = nullptr;
  int (*ecc_errors)(Device, int type, int since, unsigned long long*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;

  // Null in a library that lacks them.
  int (*driver_version)(char*, unsigned int) = nullptr;
  int (*device_by_pci_bus_id)(const char*, Device*) = nullptr;
  int (*mig_mode)(Device, unsigned int* current, unsigned int* pending) = nullptr;

 private:
  explicit Nvml(void* library) : library_(library) {}
  absl::Status Load();

  void* const library_;
  int (*shutdown_)() = nullptr;  // set once initialised
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SYSTEM_NVML_H_
