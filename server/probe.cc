#include "server/probe.h"

#include <chrono>
#include <cstddef>

#include "absl/time/time.h"
#include "server/core/base/caller_share.h"
#include "server/device/executor.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

ResidentOccupancy::Count ToTensors(const Holding& held) {
  return {static_cast<double>(held.count), static_cast<double>(held.bytes)};
}

ResidentOccupancy ToOccupancy(const TensorTableState& state) {
  const auto ended = [&state](TensorEnd why) {
    return static_cast<double>(state.ended[static_cast<std::size_t>(why)]);
  };
  return {.incomplete = ToTensors(state.incomplete),
          .complete = ToTensors(state.complete),
          .ending = ToTensors(state.ending),
          .reductions = static_cast<double>(state.reductions),
          .writes = static_cast<double>(state.writes),
          .deleted = ended(TensorEnd::kDeleted),
          .consumed = ended(TensorEnd::kConsumed),
          .expired = ended(TensorEnd::kExpired),
          .device_lost = ended(TensorEnd::kDeviceLost),
          .made_room = ended(TensorEnd::kMadeRoom)};
}

SharedOccupancy ToRegions(const Holding& held) {
  return {static_cast<double>(held.count), static_cast<double>(held.bytes)};
}

DeviceWork ToWork(const Executor& executor) {
  const DeviceUse::Counts use = executor.use();
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  return {.device = executor.info().name,
          .copied_bytes = static_cast<double>(use.copied_bytes),
          .copy_seconds = seconds(use.copy_time),
          .reduced_bytes = static_cast<double>(use.reduced_bytes),
          .kernel_seconds = seconds(use.kernel_time),
          .staging_buffer_wait_seconds = seconds(use.staging_buffer_wait_time)};
}

ConnectionOccupancy ToConnections(const ConnectionCounts& counts) {
  return {.open = static_cast<double>(counts.open),
          .max = static_cast<double>(counts.max),
          .accepted = static_cast<double>(counts.accepted),
          .refused_full = static_cast<double>(counts.refused_full),
          .refused_share = static_cast<double>(counts.refused_share),
          .refused_descriptors = static_cast<double>(counts.refused_descriptors),
          .shortages = static_cast<double>(counts.shortages)};
}

}  // namespace

Occupancy Probe(const ProbedParts& parts) {
  const AdmissionState admitted = parts.admission.state();
  const SchedulerState scheduled = parts.scheduler.state();
  Occupancy now;
  now.connections = ToConnections(parts.acceptor.counts());
  now.devices_lost = static_cast<double>(scheduled.devices_lost);
  now.devices_serving = parts.scheduler.device_count() - now.devices_lost;
  now.queue_depth = static_cast<double>(scheduled.queued);
  now.streams_in_use = static_cast<double>(scheduled.workers_in_use);
  now.streams_total = static_cast<double>(scheduled.workers);
  now.requests_in_flight = static_cast<double>(admitted.requests_in_flight);
  now.requests_expected = static_cast<double>(admitted.requests_expected);
  now.answers_unwritten = static_cast<double>(admitted.answers_unwritten);
  now.open_calls = static_cast<double>(parts.admission.open_calls().count() +
                                       parts.admission.read_line().waiting());
  now.bytes_in_flight = static_cast<double>(admitted.bytes_in_flight);
  now.refusals_requests = static_cast<double>(admitted.refused_requests);
  now.refusals_workers = static_cast<double>(admitted.refused_workers);
  now.refusals_bytes = static_cast<double>(admitted.refused_bytes);
  now.refusals_answers = static_cast<double>(admitted.refused_answers);
  now.refusals_open_calls = static_cast<double>(parts.admission.open_calls().refused() +
                                                parts.admission.read_line().refused() +
                                                parts.admission.item_line().refused());
  now.refusals_too_large = static_cast<double>(admitted.refused_too_large);
  now.refusals_draining = static_cast<double>(admitted.refused_closed);
  now.refusals_starting = static_cast<double>(admitted.refused_starting);
  now.refusals_memory = static_cast<double>(admitted.refused_pressure);
  now.memory_limit_bytes = static_cast<double>(parts.memory_limit.bytes);
  now.memory_used_bytes = static_cast<double>(parts.memory_watch.used_bytes());
  now.memory_level = static_cast<double>(parts.memory_watch.pressure());
  const HostBudget::State budget = HostBudget::OfProcess().state();
  now.request_memory_limit_bytes = static_cast<double>(budget.limit_bytes);
  now.request_memory_used_bytes = static_cast<double>(budget.used_bytes);
  now.refusals_request_memory = static_cast<double>(budget.refused);
  now.refusals_queue = static_cast<double>(scheduled.refused_queue);
  now.refusals_queue_timeout = static_cast<double>(admitted.refused_queue_timeout);
  const TensorTableState resident = parts.tensors.state();
  now.refusals_resident = static_cast<double>(resident.refused);
  now.resident = ToOccupancy(resident);
  const RegionTableState shared = parts.regions.state();
  now.refusals_regions = static_cast<double>(shared.refused);
  now.refusals_caller_share =
      static_cast<double>(admitted.refused_share + resident.refused_share + shared.refused_share);
  now.system_memory = ToRegions(shared.of(RegionKind::kSystem));
  now.cuda_memory = ToRegions(shared.of(RegionKind::kCuda));
  for (const auto& executor : parts.devices.executors) {
    const DeviceInfo& info = executor->info();
    now.devices_usable.push_back({info.name, !parts.scheduler.IsLost(info)});
    now.devices.push_back(ToWork(*executor));
  }
  for (const LeftOut& gpu : parts.devices.left_out) {
    now.devices_usable.push_back({gpu.name, false});
  }
  now.log_lines_dropped_queue = static_cast<double>(parts.log.dropped_by_queue());
  now.log_lines_dropped_write = static_cast<double>(parts.log.dropped_by_write());
  if (parts.tls != nullptr) {
    now.tls_not_after_seconds = static_cast<double>(absl::ToUnixSeconds(parts.tls->not_after()));
  }
  return now;
}

}  // namespace warpfold
