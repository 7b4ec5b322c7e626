#include "server/observe/metrics/occupancy.h"

#include "server/observe/metrics/families.h"

namespace warpfold {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void AddResident(const ResidentOccupancy& now, std::vector<MetricFamily>& families) {
  families.push_back(Labelled(MetricType::Gauge, "warpfold_resident_tensors",
                              "Resident tensors, by state.", "state",
                              {{"incomplete", now.incomplete.tensors},
                               {"complete", now.complete.tensors},
                               {"ending", now.ending.tensors}}));
  families.push_back(Labelled(MetricType::Gauge, "warpfold_resident_bytes",
                              "Bytes of resident tensors, by state.", "state",
                              {{"incomplete", now.incomplete.bytes},
                               {"complete", now.complete.bytes},
                               {"ending", now.ending.bytes}}));
  families.push_back(Labelled(MetricType::Gauge, "warpfold_resident_leases",
                              "Calls that use a resident tensor now.", "use",
                              {{"reduction", now.reductions}, {"write", now.writes}}));
  families.push_back(Labelled(MetricType::Counter, "warpfold_resident_tensors_ended_total",
                              "Resident tensors that ended, by why.", "reason",
                              {{"deleted", now.deleted},
                               {"consumed", now.consumed},
                               {"expired", now.expired},
                               {"device_lost", now.device_lost},
                               {"made_room", now.made_room}}));
}

struct WorkFamily {
  const char* name;
  const char* help;
  double DeviceWork::*value;
};

// Bytes beside the seconds that they took: the rate of one over the rate of the other is a
// bandwidth.
constexpr WorkFamily kWorkFamilies[] = {
    {"warpfold_host_to_device_bytes_total", "Bytes copied from the host to the device.",
     &DeviceWork::copied_bytes},
    {"warpfold_host_to_device_seconds_total", "Time that these copies took.",
     &DeviceWork::copy_seconds},
    {"warpfold_kernel_bytes_total", "Tensor bytes that kernels reduced.",
     &DeviceWork::reduced_bytes},
    {"warpfold_kernel_seconds_total", "Time that these kernels took.", &DeviceWork::kernel_seconds},
    {"warpfold_staging_buffer_wait_seconds_total", "Time that workers waited for staging buffers.",
     &DeviceWork::staging_buffer_wait_seconds},
};

void AddWork(const std::vector<DeviceWork>& devices, std::vector<MetricFamily>& families) {
  for (const WorkFamily& facts : kWorkFamilies) {
    MetricFamily& family =
        families.emplace_back(MetricFamily{facts.name, facts.help, MetricType::Counter, {}});
    for (const DeviceWork& work : devices) {
      prometheus::ClientMetric metric = Sample(family.type, work.*facts.value);
      metric.label.push_back({"device", work.device});
      family.metric.push_back(std::move(metric));
    }
  }
}

void AddUsable(const std::vector<DeviceUsable>& devices, std::vector<MetricFamily>& families) {
  MetricFamily& family = families.emplace_back(
      MetricFamily{"warpfold_device_usable",
                   "1 while the device serves or is about to, 0 when it was left out at the start "
                   "or is lost.",
                   MetricType::Gauge,
                   {}});
  for (const DeviceUsable& device : devices) {
    prometheus::ClientMetric metric = Sample(family.type, device.usable ? 1 : 0);
    metric.label.push_back({"device", device.device});
    family.metric.push_back(std::move(metric));
  }
}

}  // namespace

std::vector<MetricFamily> OccupancyCollector::Collect() const {
  const Occupancy now = probe_();
  std::vector<MetricFamily> families = {
      Plain(MetricType::Gauge, "warpfold_ready",
            "1 while the server says that it is ready, else 0.", now.ready ? 1 : 0),
      Plain(MetricType::Counter, "warpfold_self_probes_total",
            "Times that the server connected to its own addresses, as a client would.",
            now.self_probes),
      Plain(MetricType::Counter, "warpfold_self_probe_failures_total",
            "Connections to its own port that the server tried in vain.", now.self_probe_failures),
      Plain(MetricType::Gauge, "warpfold_connections",
            "Clients' connections to the gRPC service that are open.", now.connections.open),
      Plain(MetricType::Gauge, "warpfold_connections_max",
            "How many there may be: --max-connections, or what the open files leave.",
            now.connections.max),
      Plain(MetricType::Counter, "warpfold_connections_accepted_total",
            "Clients' connections to the gRPC service that were taken.", now.connections.accepted),
      Plain(MetricType::Counter, "warpfold_accept_shortages_total",
            "Times that no descriptor was left to accept a connection, which waits until one is.",
            now.connections.shortages),
      Labelled(MetricType::Counter, "warpfold_connections_refused_total",
               "Connections to the gRPC service that were closed at once: there are as many as may "
               "be, its address has its share, or no second descriptor was left.",
               "reason",
               {{"full", now.connections.refused_full},
                {"share", now.connections.refused_share},
                {"descriptors", now.connections.refused_descriptors}}),
      Labelled(MetricType::Gauge, "warpfold_devices", "Devices, serving and lost.", "state",
               {{"serving", now.devices_serving}, {"lost", now.devices_lost}}),
      Plain(MetricType::Gauge, "warpfold_tls_certificate_not_after_timestamp_seconds",
            "When the server's certificate expires, since the epoch; 0 without TLS.",
            now.tls_not_after_seconds),
      Plain(MetricType::Gauge, "warpfold_queue_depth", "Requests waiting for a device.",
            now.queue_depth),
      Labelled(MetricType::Gauge, "warpfold_workers",
               "Workers (CUDA streams with their buffers), in use and in total.", "state",
               {{"in_use", now.streams_in_use}, {"total", now.streams_total}}),
      Plain(MetricType::Gauge, "warpfold_requests_in_flight",
            "Requests admitted whose answer is not made yet.", now.requests_in_flight),
      Plain(MetricType::Gauge, "warpfold_answers_unwritten",
            "Answers that their clients have not taken yet.", now.answers_unwritten),
      Plain(MetricType::Gauge, "warpfold_open_calls",
            "Calls that wait for their clients: a request is not whole, a stream may go on, a "
            "refusal is not read.",
            now.open_calls),
      Plain(MetricType::Gauge, "warpfold_requests_expected",
            "Streams whose first segment, or whole tensor, has not come yet.",
            now.requests_expected),
      Plain(MetricType::Gauge, "warpfold_bytes_in_flight",
            "Bytes of payload, results and answers that are held.", now.bytes_in_flight),
      Labelled(MetricType::Counter, "warpfold_admission_refusals_total",
               "Requests refused for load or size, by what was full.", "reason",
               {{"requests", now.refusals_requests},
                {"workers", now.refusals_workers},
                {"caller_share", now.refusals_caller_share},
                {"bytes", now.refusals_bytes},
                {"answers", now.refusals_answers},
                {"open_calls", now.refusals_open_calls},
                {"too_large", now.refusals_too_large},
                {"queue", now.refusals_queue},
                {"queue_timeout", now.refusals_queue_timeout},
                {"resident", now.refusals_resident},
                {"regions", now.refusals_regions},
                {"memory", now.refusals_memory},
                {"request_memory", now.refusals_request_memory},
                {"draining", now.refusals_draining},
                {"starting", now.refusals_starting}}),
      Labelled(MetricType::Counter, "warpfold_log_lines_dropped_total",
               "Log lines lost: pushed out of the queue, or not taken by stderr.", "reason",
               {{"queue", now.log_lines_dropped_queue}, {"write", now.log_lines_dropped_write}}),
  };
  families.push_back(
      Labelled(MetricType::Gauge, "warpfold_memory_bytes",
               "Memory that counts against the system's limit, and that limit.", "state",
               {{"used", now.memory_used_bytes}, {"limit", now.memory_limit_bytes}}));
  families.push_back(Plain(MetricType::Gauge, "warpfold_memory_level",
                           "0, or how much is refused for want of memory: 1, large payloads; 2, "
                           "all.",
                           now.memory_level));
  families.push_back(Labelled(
      MetricType::Gauge, "warpfold_request_memory_bytes",
      "Memory that requests have taken for scratch, results and tensors, and the most.", "state",
      {{"used", now.request_memory_used_bytes}, {"limit", now.request_memory_limit_bytes}}));
  AddResident(now.resident, families);
  families.push_back(
      Labelled(MetricType::Gauge, "warpfold_shared_memory_regions",
               "Regions of clients' memory that the server has open.", "kind",
               {{"system", now.system_memory.regions}, {"cuda", now.cuda_memory.regions}}));
  families.push_back(
      Labelled(MetricType::Gauge, "warpfold_shared_memory_bytes",
               "Bytes of clients' memory that the server has open.", "kind",
               {{"system", now.system_memory.bytes}, {"cuda", now.cuda_memory.bytes}}));
  AddUsable(now.devices_usable, families);
  AddWork(now.devices, families);
  return families;
}

}  // namespace warpfold
