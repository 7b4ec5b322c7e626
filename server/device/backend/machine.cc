#include "server/device/backend/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/system/nvml.h"

namespace warpfold {
namespace {

constexpr int kSuccess = 0;
constexpr int kErrorNoDevice = 100;          // CUDA_ERROR_NO_DEVICE
constexpr int kComputeCapabilityMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kComputeCapabilityMinor = 76;

// The functions of the driver's API that tell what is there, by their documented C signatures.
struct Driver {
  int (*init)(unsigned int) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*pci_bus_id)(char*, int, int) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  // False, when one is missing.
  bool Find(void* library) {
    return Set(library, "cuInit", &init) && Set(library, "cuDriverGetVersion", &version) &&
           Set(library, "cuDeviceGetCount", &count) && Set(library, "cuDeviceGet", &device) &&
           Set(library, "cuDeviceGetName", &name) &&
           Set(library, "cuDeviceGetAttribute", &attribute) &&
           Set(library, "cuDeviceTotalMem_v2", &memory) &&
           Set(library, "cuDeviceGetPCIBusId", &pci_bus_id) &&
           Set(library, "cuGetErrorName", &error_name) &&
           Set(library, "cuGetErrorString", &error_text);
  }

  std::string Words(int error) const {
    const char* named = nullptr;
    const char* text = nullptr;
    if (error_name(error, &named) != kSuccess || error_text(error, &text) != kSuccess) {
      return absl::StrCat("CUDA error ", error);
    }
    return absl::StrCat(named, ": ", text);
  }

 private:
  template <typename Function>
  static bool Set(void* library, const char* symbol, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, symbol));
    return *function != nullptr;
  }
};

bool IsGpuNode(const std::string& name) {
  if (name == "nvidiactl" || name == "dxg") return true;
  constexpr char kPrefix[] = "nvidia";
  return absl::StartsWith(name, kPrefix) && name.size() > sizeof(kPrefix) - 1 &&
         name.find_first_not_of("0123456789", sizeof(kPrefix) - 1) == std::string::npos;
}

std::vector<std::string> FindNodes(const std::string& folder) {
  std::vector<std::string> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (IsGpuNode(name)) nodes.push_back(absl::StrCat("/dev/", name));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// "580.65.06", and not the "3.0" of another program in the line.
bool IsDriverVersion(absl::string_view word) {
  constexpr std::size_t kMajorDigitsMin = 3;
  const std::size_t dot = word.find('.');
  return dot != absl::string_view::npos && dot >= kMajorDigitsMin && word.back() != '.' &&
         word.find_first_not_of("0123456789.") == absl::string_view::npos;
}

// The kernel module says "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun ..."; NVML
// also where /proc is not the host's.
std::string FindDriverVersion(const MachinePlaces& places) {
  const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(places.nvml_library.c_str());
  if (nvml.ok()) {
    if (std::string version = (*nvml)->DriverVersion(); !version.empty()) return version;
  }
  std::ifstream file(places.driver_version_file);
  std::string line;
  std::getline(file, line);
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (IsDriverVersion(word)) return std::string(word);
  }
  return "";
}

// Of GPU `index`; one that does not answer has capability 0.0 and is left out for that.
Gpu ReadGpu(const Driver& driver, int index) {
  Gpu gpu;
  gpu.index = index;
  int device = 0;
  if (driver.device(&device, index) != kSuccess) return gpu;
  std::array<char, 256> text{};
  if (driver.name(text.data(), text.size() - 1, device) == kSuccess) gpu.name = text.data();
  int major = 0;
  int minor = 0;
  if (driver.attribute(&major, kComputeCapabilityMajor, device) == kSuccess &&
      driver.attribute(&minor, kComputeCapabilityMinor, device) == kSuccess) {
    gpu.capability = {major, minor};
  }
  if (std::size_t bytes = 0; driver.memory(&bytes, device) == kSuccess) {
    gpu.memory_bytes = static_cast<std::int64_t>(bytes);
  }
  text = {};
  if (driver.pci_bus_id(text.data(), text.size() - 1, device) == kSuccess) {
    gpu.pci_bus_id = text.data();
  }
  return gpu;
}

void AskDriver(const Driver& driver, Machine& machine) {
  if (driver.version(&machine.driver_cuda) != kSuccess) machine.driver_cuda = 0;
  int error = driver.init(0);
  int count = 0;
  if (error == kSuccess) error = driver.count(&count);
  if (error != kSuccess) machine.init_problem = driver.Words(error);
  machine.lists_no_gpu = error == kErrorNoDevice || (error == kSuccess && count == 0);
  for (int index = 0; error == kSuccess && index < count; ++index) {
    machine.gpus.push_back(ReadGpu(driver, index));
  }
}

}  // namespace

Machine ReadMachine(const MachinePlaces& places) {
  Machine machine;
  machine.device_nodes = FindNodes(places.device_folder);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    machine.visible_devices = visible;
  }
  // Never closed: the runtime uses the same library.
  void* library = dlopen(places.driver_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    machine.library_problem = dlerror();
    // glibc's words where it, rather than a library that it needs, is not there.
    machine.library_is_broken = !absl::StartsWith(
        machine.library_problem,
        absl::StrCat(places.driver_library,
                     ": cannot open shared object file: No such file or directory"));
    return machine;
  }
  Driver driver;
  if (!driver.Find(library)) {
    machine.library_is_broken = true;
    machine.library_problem = "it lacks a function of CUDA's driver API";
    return machine;
  }
  machine.has_driver_library = true;
  machine.driver_version = FindDriverVersion(places);
  AskDriver(driver, machine);
  return machine;
}

}  // namespace warpfold
