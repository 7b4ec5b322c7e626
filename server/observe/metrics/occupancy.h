// What the server is and holds right now, as gauges: readiness, devices, queue, workers,
// resident tensors, clients' memory, requests and bytes in flight, refusals so far, the
// devices' work so far.
//
// Step of a request: 4, report. The values are asked for when somebody scrapes, so the serving path
// pays nothing for them.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_OCCUPANCY_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_OCCUPANCY_H_

#include <functional>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace warpfold {

// Resident tensors and their bytes, by state; the calls that use them; and how those ended that
// have.
struct ResidentOccupancy {
  struct Count {
    double tensors = 0;
    double bytes = 0;
  };
  Count incomplete;
  Count complete;
  Count ending;
  double reductions = 0;
  double writes = 0;
  double deleted = 0;
  double consumed = 0;
  double expired = 0;
  double device_lost = 0;
  double made_room = 0;
};

// Regions of clients' memory.
struct SharedOccupancy {
  double regions = 0;
  double bytes = 0;
};

// What one device has done since the start (server/device/device_use.h).
struct DeviceWork {
  std::string device;
  double copied_bytes = 0;
  double copy_seconds = 0;
  double reduced_bytes = 0;
  double kernel_seconds = 0;
  double staging_buffer_wait_seconds = 0;
};

// One device, or a GPU that was left out at the start.
struct DeviceUsable {
  std::string device;
  bool usable = false;
};

// Of clients to the server.
struct ConnectionOccupancy {
  double open = 0;
  double max = 0;
  double accepted = 0;
  double refused_full = 0;
  double refused_share = 0;
  double refused_descriptors = 0;
  double shortages = 0;
};

struct Occupancy {
  bool ready = false;
  double self_probes = 0;
  double self_probe_failures = 0;
  ConnectionOccupancy connections;
  double devices_serving = 0;
  double devices_lost = 0;
  std::vector<DeviceUsable> devices_usable;
  double tls_not_after_seconds = 0;  // since the epoch; 0 without TLS
  double queue_depth = 0;
  double streams_in_use = 0;
  double streams_total = 0;
  double requests_in_flight = 0;
  double requests_expected = 0;
  double answers_unwritten = 0;
  double open_calls = 0;
  double bytes_in_flight = 0;
  double log_lines_dropped_queue = 0;
  double log_lines_dropped_write = 0;
  double refusals_requests = 0;
  double refusals_workers = 0;
  double refusals_caller_share = 0;
  double refusals_bytes = 0;
  double refusals_answers = 0;
  double refusals_open_calls = 0;
  double refusals_too_large = 0;
  double refusals_queue = 0;
  double refusals_queue_timeout = 0;
  double refusals_draining = 0;
  double refusals_starting = 0;
  double refusals_resident = 0;
  double refusals_regions = 0;
  double refusals_memory = 0;
  double memory_limit_bytes = 0;
  double memory_used_bytes = 0;
  double memory_level = 0;
  double request_memory_limit_bytes = 0;
  double request_memory_used_bytes = 0;
  double refusals_request_memory = 0;
  SharedOccupancy system_memory;  // of clients'
  SharedOccupancy cuda_memory;
  ResidentOccupancy resident;
  std::vector<DeviceWork> devices;
};

// Turns an Occupancy into metric families. `probe` is called from the metrics server's threads and
// must be safe there.
class OccupancyCollector final : public prometheus::Collectable {
 public:
  explicit OccupancyCollector(std::function<Occupancy()> probe) : probe_(std::move(probe)) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::function<Occupancy()> probe_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_OCCUPANCY_H_
