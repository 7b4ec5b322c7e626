// The GPUs' state once more, under the names that Triton gave it: perf_analyzer --collect-metrics
// looks for exactly those.
//
// Step of a request: 4, report. Pure function.
#ifndef WARPFOLD_SERVER_OBSERVE_GPU_TRITON_GPU_METRICS_H_
#define WARPFOLD_SERVER_OBSERVE_GPU_TRITON_GPU_METRICS_H_

#include <vector>

#include "prometheus/metric_family.h"

namespace warpfold {

// nv_gpu_utilization, _power_usage, _memory_used_bytes and _memory_total_bytes by gpu_uuid, from
// the warpfold_gpu_* families of GpuCollector. Where those have no sample, these have none.
std::vector<prometheus::MetricFamily> TritonGpuFamilies(
    const std::vector<prometheus::MetricFamily>& families);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_GPU_TRITON_GPU_METRICS_H_
