#include "server/observe/trace/span_collector.h"

#include "server/observe/metrics/families.h"

namespace warpfold {

std::vector<prometheus::MetricFamily> SpanCollector::Collect() const {
  const DroppedSpans dropped = spans_.dropped();
  return {Labelled(prometheus::MetricType::Counter, "warpfold_spans_dropped_total",
                   "Spans of calls and items that were lost: the queue was full, or the collector "
                   "did not take them.",
                   "reason",
                   {{"queue", static_cast<double>(dropped.by_queue)},
                    {"export", static_cast<double>(dropped.by_export)}})};
}

}  // namespace warpfold
