// The spans that were lost, for the metrics page.
//
// Step of a request: 4, report. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_COLLECTOR_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_COLLECTOR_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {

class SpanCollector final : public prometheus::Collectable {
 public:
  // `spans` outlives it.
  explicit SpanCollector(const SpanSink& spans) : spans_(spans) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SpanSink& spans_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_COLLECTOR_H_
