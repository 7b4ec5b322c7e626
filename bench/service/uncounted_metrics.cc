// Metrics that count nothing. warpfold-server linked with them is what metrics_cost.py compares the
// real one to; the page then lacks the series of requests, RPCs, stages and batches.
#include "server/observe/metrics/metrics.h"

namespace warpfold {

Metrics::Metrics(const BuildInfo& /*build*/)
    : registry_(std::make_shared<prometheus::Registry>()) {}

void Metrics::CountRequest(const RequestRecord& /*record*/) {}

void Metrics::CountCallHandled(Method /*method*/, absl::StatusCode /*code*/,
                               std::chrono::nanoseconds /*duration*/) {}

void Metrics::CountBatch(int /*requests*/) {}

void Metrics::CountTimeout(Timeout /*timeout*/) {}

void Metrics::CountReload(bool /*taken*/) {}

}  // namespace warpfold
