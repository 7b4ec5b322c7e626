// A libnvidia-ml.so.1 of two GPUs, of which the second supports next to nothing.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;

bool IsFirst(const void* device) { return reinterpret_cast<std::intptr_t>(device) == 1; }

int Give(char* out, unsigned int size, const char* text) {
  std::strncpy(out, text, size);
  return kSuccess;
}

// Of the environment; 0 when it is not there.
unsigned int Number(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? static_cast<unsigned int>(std::strtoul(value, nullptr, 10)) : 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
int nvmlSystemGetDriverVersion(char* out, unsigned int size) { return Give(out, size, "550.54"); }
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  // "0000:01:00.0": the bus is the index.
  return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned int>(id[6] - '0'), device);
}
int nvmlDeviceGetMigMode(void* device, unsigned int* current, unsigned int* pending) {
  *current = *pending = Number("FAKE_NVML_MIG");
  return IsFirst(device) ? kSuccess : kNotSupported;
}
int nvmlDeviceGetName(void* device, char* out, unsigned int size) {
  return Give(out, size, IsFirst(device) ? "First" : "Second");
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned int size) {
  return Give(out, size, IsFirst(device) ? "GPU-1" : "GPU-2");
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  if (!IsFirst(device)) return kNotSupported;
  total_free_used[0] = 1000;
  total_free_used[1] = 600;
  total_free_used[2] = 400;
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned int* gpu_memory) {
  if (!IsFirst(device)) return kNotSupported;
  gpu_memory[0] = 75;
  gpu_memory[1] = 5;
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* celsius) {
  *celsius = 41;
  return IsFirst(device) && sensor == 0 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned int* milliwatts) {
  *milliwatts = 123456;
  return IsFirst(device) ? kSuccess : kNotSupported;
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int /*since*/, unsigned long long* errors) {
  *errors = type == 0 ? 7 : Number("FAKE_NVML_UNCORRECTED");
  return IsFirst(device) ? kSuccess : kNotSupported;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = 0x40 | 0x1;  // hw_thermal, and idle, which is no fault
  return IsFirst(device) ? kSuccess : kNotSupported;
}

}  // extern "C"
