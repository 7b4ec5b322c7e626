// What the machine says about its GPUs before anything of CUDA's runtime is called: device nodes,
// the driver's library, its version, the GPUs that it lists.
//
// The driver's API is called directly, by dlopen: the runtime turns most of these facts into one
// error. Nothing here decides; device_choice.h does. Call ReadMachine from one thread.
#ifndef WARPFOLD_SERVER_DEVICE_BACKEND_MACHINE_H_
#define WARPFOLD_SERVER_DEVICE_BACKEND_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/architectures.h"

namespace warpfold {

// A GPU that the driver lists.
struct Gpu {
  int index = 0;  // CUDA's number: among the visible ones, from 0
  std::string name;
  cuda::ComputeCapability capability;  // 0.0: it does not answer
  std::int64_t memory_bytes = 0;
  std::string pci_bus_id;  // to find it in NVML; not for print
};

struct Machine {
  std::vector<std::string> device_nodes;  // "/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"
  bool has_driver_library = false;        // and it can be used
  bool library_is_broken = false;         // it is there, and cannot be used
  std::string library_problem;            // why; empty where it can
  int driver_cuda = 0;         // the newest CUDA that the driver serves: 13000; 0: unknown
  std::string driver_version;  // "580.65.06"; empty: unknown
  std::string init_problem;    // "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
  bool lists_no_gpu = false;   // the driver works and says that there is none
  std::vector<Gpu> gpus;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES

  bool has_gpu() const { return !device_nodes.empty() || !gpus.empty(); }
};

// Where ReadMachine looks; tests look elsewhere.
struct MachinePlaces {
  std::string device_folder = "/dev";
  std::string driver_version_file = "/proc/driver/nvidia/version";
  std::string driver_library = "libcuda.so.1";
  std::string nvml_library = "libnvidia-ml.so.1";
};

Machine ReadMachine(const MachinePlaces& places = {});

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_BACKEND_MACHINE_H_
