// A libcuda.so.1 with the few functions that tell what is there. The environment says what:
//   FAKE_CUDA_VERSION=12040      the newest CUDA that it serves; else 13000
//   FAKE_CUDA_INIT=100           what cuInit returns; else 0
//   FAKE_CUDA_GPUS=9.0,7.0       the GPUs' compute capabilities; else none
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

int Number(const char* name, int otherwise) {
  const std::string value = Environment(name);
  return value.empty() ? otherwise : std::stoi(value);
}

std::vector<std::pair<int, int>> Gpus() {
  std::vector<std::pair<int, int>> gpus;
  std::istringstream list(Environment("FAKE_CUDA_GPUS"));
  char point = 0;
  for (int major = 0, minor = 0; list >> major >> point >> minor; list >> point) {
    gpus.emplace_back(major, minor);
  }
  return gpus;
}

bool Has(int device) { return device >= 0 && device < static_cast<int>(Gpus().size()); }

int Give(const std::string& text, char* out, int size) {
  std::strncpy(out, text.c_str(), static_cast<std::size_t>(size));
  return kSuccess;
}

}  // namespace

extern "C" {

int cuInit(unsigned int /*flags*/) { return Number("FAKE_CUDA_INIT", kSuccess); }
int cuDriverGetVersion(int* version) {
  *version = Number("FAKE_CUDA_VERSION", 13000);
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Gpus().size());
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return Has(ordinal) ? kSuccess : kInvalidValue;
}
int cuDeviceGetName(char* name, int size, int device) {
  return Give("Fake GPU " + std::to_string(device), name, size);
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!Has(device) || (attribute != 75 && attribute != 76)) return kInvalidValue;
  const auto [major, minor] = Gpus()[static_cast<std::size_t>(device)];
  *value = attribute == 75 ? major : minor;
  return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
  *bytes = std::size_t{16} << 30;
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  return Give("0000:0" + std::to_string(device) + ":00.0", id, size);
}
int cuGetErrorName(int error, const char** name) {
  *name = error == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kNoDevice ? "no CUDA-capable device is detected" : "unknown error";
  return kSuccess;
}

}  // extern "C"
