#include "server/observe/gpu/triton_gpu_metrics.h"

#include <map>
#include <string>

#include "server/observe/metrics/families.h"

namespace warpfold {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Alias {
  const char* name;
  const char* help;
  const char* family;  // whose samples it takes
  const char* state;   // of those with this label, or of all
};

constexpr Alias kAliases[] = {
    {"nv_gpu_utilization", "As warpfold_gpu_utilization_ratio, for perf_analyzer.",
     "warpfold_gpu_utilization_ratio", ""},
    {"nv_gpu_power_usage", "As warpfold_gpu_power_watts, for perf_analyzer.",
     "warpfold_gpu_power_watts", ""},
    {"nv_gpu_memory_used_bytes", "As warpfold_gpu_memory_bytes, for perf_analyzer.",
     "warpfold_gpu_memory_bytes", "used"},
    {"nv_gpu_memory_total_bytes", "As warpfold_gpu_memory_bytes, for perf_analyzer.",
     "warpfold_gpu_memory_bytes", "total"},
};

std::string LabelOf(const ClientMetric& metric, const std::string& name) {
  for (const ClientMetric::Label& label : metric.label) {
    if (label.name == name) return label.value;
  }
  return "";
}

}  // namespace

std::vector<MetricFamily> TritonGpuFamilies(const std::vector<MetricFamily>& families) {
  std::map<std::string, std::string> uuids;  // by index
  for (const MetricFamily& family : families) {
    if (family.name != "warpfold_gpu_info") continue;
    for (const ClientMetric& metric : family.metric) {
      uuids[LabelOf(metric, "gpu")] = LabelOf(metric, "uuid");
    }
  }
  std::vector<MetricFamily> aliases;
  for (const Alias& alias : kAliases) {
    MetricFamily& out =
        aliases.emplace_back(MetricFamily{alias.name, alias.help, MetricType::Gauge, {}});
    for (const MetricFamily& family : families) {
      if (family.name != alias.family) continue;
      for (const ClientMetric& metric : family.metric) {
        if (LabelOf(metric, "state") != alias.state) continue;
        ClientMetric& sample = out.metric.emplace_back(Sample(out.type, metric.gauge.value));
        sample.label.push_back({"gpu_uuid", uuids[LabelOf(metric, "gpu")]});
      }
    }
  }
  return aliases;
}

}  // namespace warpfold
