#include "server/config.h"

#include <algorithm>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config_options.h"
#include "server/observe/trace/otlp.h"
#include "server/system/host_port.h"
#include "server/system/listen_address.h"

namespace warpfold {
namespace {

constexpr std::int64_t kStagingBufferUnit = 64 << 10;

std::optional<BadOption> FindOutOfRange(const ConfigOption& option, const Config& config) {
  return std::visit(
      [&](auto field) -> std::optional<BadOption> {
        if constexpr (std::is_integral_v<std::decay_t<decltype(config.*field)>>) {
          if (const std::string problem = RangeProblem(option, config.*field); !problem.empty()) {
            return BadOption{option.name, problem};
          }
        }
        return std::nullopt;
      },
      option.field);
}

std::optional<BadOption> FindBadAddress(const Config& config) {
  const absl::StatusOr<std::vector<ListenAddress>> listen =
      ParseListenAddresses(config.listen_address);
  if (!listen.ok()) return BadOption{"listen-address", std::string(listen.status().message())};
  if (!config.serves_metrics()) return std::nullopt;
  const absl::StatusOr<HostPort> metrics = ParseOwnAddress(config.metrics_address);
  if (!metrics.ok()) return BadOption{"metrics-address", std::string(metrics.status().message())};
  for (const ListenAddress& address : *listen) {
    const HostPort* tcp = address.tcp();
    if (tcp == nullptr || tcp->port != metrics->port || tcp->port == 0) continue;
    if (metrics->host == tcp->host || metrics->is_every_address() || tcp->is_every_address()) {
      return BadOption{"metrics-address", absl::StrCat("'", config.metrics_address,
                                                       "' is the port of listen-address")};
    }
  }
  return std::nullopt;
}

std::optional<BadOption> FindBadEndpoint(const std::string& endpoint) {
  if (endpoint.empty()) return std::nullopt;
  if (!HasOtlp()) {
    return BadOption{"otlp-endpoint", "this server was built without opentelemetry-cpp"};
  }
  if (absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://")) {
    return std::nullopt;
  }
  return BadOption{"otlp-endpoint", absl::StrCat("'", endpoint, "' is no URL of http or https")};
}

}  // namespace

std::optional<BadOption> Config::FindBad() const {
  if (std::optional<BadOption> bad = FindBadAddress(*this); bad.has_value()) return bad;
  if (std::optional<BadOption> bad = FindBadEndpoint(otlp_endpoint); bad.has_value()) return bad;
  if (staging_buffer_bytes % kStagingBufferUnit != 0) {
    return BadOption{
        "staging-buffer-bytes",
        absl::StrCat(staging_buffer_bytes, " is not a multiple of ", kStagingBufferUnit)};
  }
  if (tls_cert.empty() != tls_key.empty()) {
    return BadOption{"tls-key", "goes with tls-cert, and one of them is missing"};
  }
  if (!tls_client_ca.empty() && tls_cert.empty()) {
    return BadOption{"tls-client-ca", "needs tls-cert and tls-key"};
  }
  if (metrics_tls == Switch::kOn && tls_cert.empty()) {
    return BadOption{"metrics-tls", "needs tls-cert and tls-key"};
  }
  if (metrics_auth == Switch::kOn && callers_file.empty()) {
    return BadOption{"metrics-auth", "needs callers-file"};
  }
  if (resident_ttl_ms > max_resident_ttl_ms) {
    return BadOption{
        "resident-ttl-ms",
        absl::StrCat(resident_ttl_ms, " is above max-resident-ttl-ms, ", max_resident_ttl_ms)};
  }
  for (const ConfigOption& option : ConfigOptions()) {
    if (std::optional<BadOption> bad = FindOutOfRange(option, *this); bad.has_value()) return bad;
  }
  return std::nullopt;
}

std::vector<ListenAddress> Config::listen_addresses() const {
  return *ParseListenAddresses(listen_address);
}

int Config::workers(Backend served_by) const {
  if (workers_per_device > 0) return workers_per_device;
  if (served_by == Backend::kCuda) return 8;
  // At least four, so that slow streams leave one for others (DeviceScheduler).
  return std::max(4, static_cast<int>(std::thread::hardware_concurrency()));
}

Limits Config::limits() const {
  Limits limits;
  limits.max_tensor_bytes = max_tensor_bytes;
  limits.max_message_bytes = max_message_bytes;
  limits.max_result_bytes = max_result_bytes;
  limits.max_requests_in_flight = max_requests_in_flight;
  limits.max_bytes_in_flight = max_bytes_in_flight;
  limits.max_batch_requests = max_batch_requests;
  limits.max_batch_bytes = max_batch_bytes;
  limits.queue_timeout = std::chrono::milliseconds(queue_timeout_ms);
  limits.stream_idle_timeout = std::chrono::milliseconds(stream_idle_timeout_ms);
  limits.message_timeout = std::chrono::milliseconds(message_timeout_ms);
  limits.write_idle_timeout = std::chrono::milliseconds(write_idle_timeout_ms);
  limits.min_bytes_per_s = min_bytes_per_s;
  limits.resident.bytes_max = max_resident_bytes;
  limits.resident.tensor_bytes_max = max_resident_tensor_bytes;
  limits.resident.split_bytes_min = split_bytes_min;
  limits.resident.tensors_max = max_resident_tensors;
  limits.resident.ttl = std::chrono::milliseconds(resident_ttl_ms);
  limits.resident.ttl_max = std::chrono::milliseconds(max_resident_ttl_ms);
  limits.regions.shared_prefix = shared_memory_prefix;
  limits.regions.shared_bytes_max = max_shared_memory_bytes;
  limits.regions.cuda_bytes_max = max_cuda_memory_bytes;
  limits.regions.cuda_takes_results = cuda_memory_results == Switch::kOn;
  limits.regions.regions_max = max_memory_regions;
  return limits;
}

LogOptions Config::log_options() const {
  return {.level = log_level, .format = log_format, .queue_lines = log_queue_lines};
}

AccessLogOptions Config::access_log_options() const {
  return {.fast_per_s = access_log_fast_per_s,
          .failed_per_s = access_log_failed_per_s,
          .malformed_per_s = log_malformed_per_s,
          .slow = std::chrono::milliseconds(access_log_slow_ms)};
}

WorkerOptions Config::worker_options() const {
  return {
      .staging_buffer_bytes = static_cast<std::size_t>(staging_buffer_bytes),
      .staging_buffers_per_worker = staging_buffers_per_worker,
      .scratch_bytes = static_cast<std::size_t>(scratch_bytes),
      .gpu_scratch_bytes = static_cast<std::size_t>(gpu_scratch_bytes),
      .batch = {.tensors = max_batch_requests, .bytes = static_cast<std::size_t>(max_batch_bytes)}};
}

}  // namespace warpfold
