#include "server/observe/occupancy.h"

#include "server/observe/families.h"

namespace warpfold {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

}  // namespace

std::vector<MetricFamily> OccupancyCollector::Collect() const {
  const Occupancy now = probe_();
  return {
      Plain(MetricType::Gauge, "warpfold_ready",
            "1 while the server says that it is ready, else 0.", now.ready ? 1 : 0),
      Labelled(MetricType::Gauge, "warpfold_devices", "Devices, serving and lost.", "state",
               {{"serving", now.devices_serving}, {"lost", now.devices_lost}}),
      Plain(MetricType::Gauge, "warpfold_tls_certificate_not_after_timestamp_seconds",
            "When the server's certificate expires, since the epoch; 0 without TLS.",
            now.tls_not_after_seconds),
      Plain(MetricType::Gauge, "warpfold_queue_depth", "Requests waiting for a device.",
            now.queue_depth),
      Labelled(MetricType::Gauge, "warpfold_streams",
               "Lanes (CUDA streams with their buffers), in use and in total.", "state",
               {{"in_use", now.streams_in_use}, {"total", now.streams_total}}),
      Labelled(MetricType::Gauge, "warpfold_pinned_pool_bytes",
               "Bytes of the lanes' staging slabs, in use and in total.", "state",
               {{"in_use", now.pinned_bytes_in_use}, {"total", now.pinned_bytes_total}}),
      Plain(MetricType::Gauge, "warpfold_requests_in_flight", "Requests admitted and not answered.",
            now.requests_in_flight),
      Plain(MetricType::Gauge, "warpfold_bytes_in_flight",
            "Payload bytes held by admitted requests.", now.bytes_in_flight),
      Labelled(MetricType::Counter, "warpfold_admission_refusals_total",
               "Requests refused for load or size, by what was full.", "reason",
               {{"requests", now.refusals_requests},
                {"bytes", now.refusals_bytes},
                {"too_large", now.refusals_too_large},
                {"queue", now.refusals_queue},
                {"draining", now.refusals_draining}}),
      Labelled(MetricType::Counter, "warpfold_log_lines_dropped_total",
               "Log lines lost: pushed out of the queue, or not taken by stderr.", "reason",
               {{"queue", now.log_lines_dropped_queue}, {"write", now.log_lines_dropped_write}}),
  };
}

}  // namespace warpfold
