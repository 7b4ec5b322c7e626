// What the kernel says of this process, under the names that every Prometheus client gives it: CPU
// time, memory, file descriptors, start time.
//
// Step of a request: 4, report. Read from /proc when somebody scrapes; what /proc does not say is
// 0. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_PROCESS_METRICS_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_PROCESS_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace warpfold {

class ProcessCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_PROCESS_METRICS_H_
