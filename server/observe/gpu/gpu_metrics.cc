#include "server/observe/gpu/gpu_metrics.h"

#include <array>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/gpu/triton_gpu_metrics.h"
#include "server/observe/metrics/families.h"

namespace warpfold {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::chrono::seconds kAskEvery{1};
constexpr unsigned int kNameBytes = 96;  // NVML's longest

// Bits of NVML's clocks throttle reasons that slow work down.
constexpr std::pair<const char*, unsigned long long> kThrottleReasons[] = {
    {"sw_power_cap", 0x4}, {"hw_slowdown", 0x8}, {"sync_boost", 0x10},
    {"sw_thermal", 0x20},  {"hw_thermal", 0x40}, {"hw_power_brake", 0x80}};

using Labels = std::initializer_list<std::pair<const char*, std::string>>;

void Add(MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric metric = Sample(family.type, value);
  for (const auto& [name, label_value] : labels) metric.label.push_back({name, label_value});
  family.metric.push_back(std::move(metric));
}

std::string Text(int (*get)(Nvml::Device, char*, unsigned int), Nvml::Device device) {
  std::array<char, kNameBytes> text{};
  return get(device, text.data(), kNameBytes - 1) == Nvml::kSuccess ? text.data() : "";
}

}  // namespace

std::vector<MetricFamily> GpuCollector::Collect() const {
  absl::MutexLock lock(&mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!asked_.has_value() || now - *asked_ >= kAskEvery) {
    answer_ = Ask();
    for (MetricFamily& family : TritonGpuFamilies(answer_)) answer_.push_back(std::move(family));
    asked_ = now;
  }
  return answer_;
}

std::vector<MetricFamily> GpuCollector::Ask() const {
  MetricFamily info{"warpfold_gpu_info", "Always 1; which GPU it is.", MetricType::Gauge, {}};
  MetricFamily memory{"warpfold_gpu_memory_bytes", "GPU memory.", MetricType::Gauge, {}};
  MetricFamily busy{"warpfold_gpu_utilization_ratio",
                    "Part of the time in which the GPU worked.",
                    MetricType::Gauge,
                    {}};
  MetricFamily heat{
      "warpfold_gpu_temperature_celsius", "Temperature of the GPU.", MetricType::Gauge, {}};
  MetricFamily power{
      "warpfold_gpu_power_watts", "Power that the GPU draws.", MetricType::Gauge, {}};
  MetricFamily ecc{"warpfold_gpu_ecc_errors_total",
                   "Memory errors since the driver was loaded.",
                   MetricType::Counter,
                   {}};
  MetricFamily throttled{"warpfold_gpu_throttled",
                         "1 while the clocks are held down for a reason.",
                         MetricType::Gauge,
                         {}};
  unsigned int count = 0;
  if (nvml_->device_count(&count) != Nvml::kSuccess) count = 0;
  for (unsigned int i = 0; i < count; ++i) {
    Nvml::Device device = nullptr;
    if (nvml_->device_by_index(i, &device) != Nvml::kSuccess) continue;
    const std::string gpu = absl::StrCat(i);
    Add(info,
        {{"gpu", gpu}, {"model", Text(nvml_->name, device)}, {"uuid", Text(nvml_->uuid, device)}},
        1);
    if (Nvml::Memory m{}; nvml_->memory(device, &m) == Nvml::kSuccess) {
      Add(memory, {{"gpu", gpu}, {"state", "used"}}, static_cast<double>(m.used_bytes));
      Add(memory, {{"gpu", gpu}, {"state", "total"}}, static_cast<double>(m.total_bytes));
    }
    if (Nvml::Utilization u{}; nvml_->utilization(device, &u) == Nvml::kSuccess) {
      Add(busy, {{"gpu", gpu}}, u.gpu_percent / 100.0);
    }
    unsigned int value = 0;
    if (nvml_->temperature_celsius(device, Nvml::kTemperatureOfGpu, &value) == Nvml::kSuccess) {
      Add(heat, {{"gpu", gpu}}, value);
    }
    if (nvml_->power_milliwatts(device, &value) == Nvml::kSuccess) {
      Add(power, {{"gpu", gpu}}, value / 1000.0);
    }
    for (const auto& [name, type] :
         {std::pair("corrected", Nvml::kCorrected), std::pair("uncorrected", Nvml::kUncorrected)}) {
      unsigned long long errors = 0;
      if (nvml_->ecc_errors(device, type, Nvml::kSinceDriverLoad, &errors) == Nvml::kSuccess) {
        Add(ecc, {{"gpu", gpu}, {"type", name}}, static_cast<double>(errors));
      }
    }
    unsigned long long reasons = 0;
    if (nvml_->throttle_reasons(device, &reasons) == Nvml::kSuccess) {
      for (const auto& [name, bit] : kThrottleReasons) {
        Add(throttled, {{"gpu", gpu}, {"reason", name}}, (reasons & bit) != 0 ? 1 : 0);
      }
    }
  }
  return {info, memory, busy, heat, power, ecc, throttled};
}

}  // namespace warpfold
