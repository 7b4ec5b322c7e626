// What a server is doing, from its metrics (docs/metrics.md): counters read twice make rates and
// latencies of the time between.
//
// Thread safety: pure functions over values. Failure: FAILED_PRECONDITION when the samples are not
// those of a warpfold server.
#ifndef WARPFOLD_CLIENT_CPP_CLI_SERVER_LOAD_H_
#define WARPFOLD_CLIENT_CPP_CLI_SERVER_LOAD_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/prometheus_text.h"

namespace warpfold::client {

// The metrics that are read; a test compares them with docs/metrics.md.
inline constexpr const char* kMetricsRead[] = {"warpfold_requests_total",
                                               "warpfold_request_duration_seconds",
                                               "warpfold_payload_bytes_total",
                                               "warpfold_admission_refusals_total",
                                               "warpfold_requests_in_flight",
                                               "warpfold_queue_depth",
                                               "warpfold_workers"};

// A histogram's buckets: observations at or below each upper bound in seconds, +Inf last.
using Buckets = std::map<double, double>;

// One reading.
struct ServerCounters {
  struct Method {
    Buckets duration;
    double errors = 0;  // answers with a code other than OK
  };
  std::map<std::string, Method> methods;
  double payload_bytes = 0;
  double refusals = 0;
  std::optional<double> in_flight, queue_depth, workers_in_use, workers;
};

// The time between two readings.
struct ServerLoad {
  struct Method {
    double requests_per_s = 0;
    double errors_per_s = 0;
    std::optional<double> p50_s, p99_s;  // absent without requests
  };
  std::map<std::string, Method> methods;
  double seconds = 0;
  double bytes_per_s = 0;
  double refusals_per_s = 0;
  std::optional<double> in_flight, queue_depth, workers_in_use, workers;  // at its end
};

absl::StatusOr<ServerCounters> CountersOf(const std::vector<Sample>& samples);

// A counter that went down belongs to a server that started anew: all of it is new.
// REQUIRES: elapsed > 0.
ServerLoad LoadBetween(const ServerCounters& before, const ServerCounters& after,
                       std::chrono::duration<double> elapsed);

// The `quantile` (0 to 1) as PromQL's histogram_quantile has it: linear within a bucket; the last
// finite bound when it lies above that. Absent when nothing was observed.
std::optional<double> HistogramQuantile(const Buckets& buckets, double quantile);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_SERVER_LOAD_H_
