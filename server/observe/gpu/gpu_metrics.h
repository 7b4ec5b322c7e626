// The GPUs' own state from NVML, the driver's library: memory, utilisation, temperature, power, ECC
// errors, throttling.
//
// Step of a request: 4, report. The library is opened at run time: nothing is needed to build, and
// without a driver there are no such series. What a GPU does not support has no sample. Asked when
// somebody scrapes, but at most once a second, as some answers take milliseconds. Safe from any
// thread.
#ifndef WARPFOLD_SERVER_OBSERVE_GPU_GPU_METRICS_H_
#define WARPFOLD_SERVER_OBSERVE_GPU_GPU_METRICS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/system/nvml.h"

namespace warpfold {

class GpuCollector final : public prometheus::Collectable {
 public:
  explicit GpuCollector(std::unique_ptr<Nvml> nvml) : nvml_(std::move(nvml)) {}

  std::vector<prometheus::MetricFamily> Collect() const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<prometheus::MetricFamily> Ask() const;

  const std::unique_ptr<Nvml> nvml_;
  mutable absl::Mutex mutex_;
  mutable std::optional<std::chrono::steady_clock::time_point> asked_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<prometheus::MetricFamily> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_GPU_GPU_METRICS_H_
