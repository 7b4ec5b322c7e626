#include "client/cpp/cli/server_load.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"

namespace warpfold::client {
namespace {

// What a counter counted between two readings.
double Increase(double before, double after) { return after < before ? after : after - before; }

Buckets Increase(const Buckets& before, const Buckets& after) {
  const auto count = [](const Buckets& buckets) {
    return buckets.empty() ? 0 : buckets.rbegin()->second;
  };
  if (count(after) < count(before)) return after;
  Buckets increase = after;
  for (auto& [bound, value] : increase) {
    if (const auto old = before.find(bound); old != before.end()) value -= old->second;
  }
  return increase;
}

}  // namespace

absl::StatusOr<ServerCounters> CountersOf(const std::vector<Sample>& samples) {
  ServerCounters counters;
  for (const Sample& sample : samples) {
    const std::string method = sample.label("method");
    if (sample.name == "warpfold_request_duration_seconds_bucket") {
      double bound = 0;
      if (absl::SimpleAtod(sample.label("le"), &bound)) {
        counters.methods[method].duration[bound] = sample.value;
      }
    } else if (sample.name == "warpfold_requests_total") {
      if (sample.label("code") != "OK") counters.methods[method].errors += sample.value;
    } else if (sample.name == "warpfold_payload_bytes_total") {
      counters.payload_bytes += sample.value;
    } else if (sample.name == "warpfold_admission_refusals_total") {
      counters.refusals += sample.value;
    } else if (sample.name == "warpfold_requests_in_flight") {
      counters.in_flight = counters.in_flight.value_or(0) + sample.value;
    } else if (sample.name == "warpfold_queue_depth") {
      counters.queue_depth = counters.queue_depth.value_or(0) + sample.value;
    } else if (sample.name == "warpfold_workers") {
      std::optional<double>& workers =
          sample.label("state") == "in_use" ? counters.workers_in_use : counters.workers;
      workers = workers.value_or(0) + sample.value;
    }
  }
  if (counters.methods.empty()) {
    return absl::FailedPreconditionError("has no metrics of a warpfold server");
  }
  return counters;
}

ServerLoad LoadBetween(const ServerCounters& before, const ServerCounters& after,
                       std::chrono::duration<double> elapsed) {
  ServerLoad load;
  load.seconds = elapsed.count();
  for (const auto& [name, now] : after.methods) {
    const auto old = before.methods.find(name);
    const ServerCounters::Method was =
        old == before.methods.end() ? ServerCounters::Method{} : old->second;
    const Buckets duration = Increase(was.duration, now.duration);
    ServerLoad::Method& method = load.methods[name];
    method.requests_per_s = duration.empty() ? 0 : duration.rbegin()->second / load.seconds;
    method.errors_per_s = Increase(was.errors, now.errors) / load.seconds;
    method.p50_s = HistogramQuantile(duration, 0.5);
    method.p99_s = HistogramQuantile(duration, 0.99);
  }
  load.bytes_per_s = Increase(before.payload_bytes, after.payload_bytes) / load.seconds;
  load.refusals_per_s = Increase(before.refusals, after.refusals) / load.seconds;
  load.in_flight = after.in_flight;
  load.queue_depth = after.queue_depth;
  load.workers_in_use = after.workers_in_use;
  load.workers = after.workers;
  return load;
}

std::optional<double> HistogramQuantile(const Buckets& buckets, double quantile) {
  if (buckets.empty() || buckets.rbegin()->second <= 0) return std::nullopt;
  const double rank = quantile * buckets.rbegin()->second;
  double lower_bound = 0;
  double below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= rank && count > below) {
      if (std::isinf(bound)) return lower_bound;
      return lower_bound + (bound - lower_bound) * (rank - below) / (count - below);
    }
    lower_bound = bound;
    below = count;
  }
  return std::nullopt;
}

}  // namespace warpfold::client
