// Every limit and option of the server, with its unit and default.
//
// config_options.h reads it from flags, environment and file, and holds the table that those, the
// checks and docs/configuration.md are made of. Plain values.
#ifndef WARPFOLD_SERVER_CONFIG_H_
#define WARPFOLD_SERVER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/base/limits.h"
#include "server/device/backend/backend.h"
#include "server/observe/log/access_log.h"
#include "server/observe/log/log.h"
#include "server/system/listen_address.h"

namespace warpfold {

// Of messages that clients send.
enum class Compression { kRefused, kTaken };

enum class Switch { kOff, kOn };

// One whose value is refused.
struct BadOption {
  std::string name;  // "staging-buffer-bytes"
  std::string why;
};

// The flag of each field is its name with dashes.
struct Config {
  // Where to listen (listen_address.h). Port 0 takes any free port. Not on every address unless the
  // operator says so: nobody is asked who they are.
  std::string listen_address = "127.0.0.1:50051";
  std::string metrics_address = "127.0.0.1:9464";  // "none" or empty: no metrics page
  Switch metrics_tls = Switch::kOff;               // with the certificate of the gRPC service
  Switch metrics_auth = Switch::kOff;              // on: for callers with the scope `metrics` alone
  std::string port_file;                           // empty: none written

  // TLS: PEM files. Without a certificate there is none.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;  // set: clients have to show a certificate that it signed

  std::string callers_file;  // empty: nobody is asked who they are

  Compression compression = Compression::kRefused;

  // Connections.
  std::int64_t max_connections = 8192;
  int max_streams_per_connection = 128;
  std::int64_t handshake_timeout_ms = 10000;
  std::int64_t connection_idle_timeout_ms = 600'000;  // 0: none
  std::int64_t max_connection_age_ms = 0;             // 0: none
  std::int64_t max_connection_age_grace_ms = 3'600'000;
  std::int64_t keepalive_ms = 60000;
  std::int64_t keepalive_timeout_ms = 20000;

  Switch reflection = Switch::kOn;
  int max_reflection_streams = 16;
  int max_health_watches = 1024;

  // The device.
  Backend backend = Backend::kAuto;
  int workers_per_device = 0;  // 0: 8 on CUDA, max(4, processors) on the CPU
  std::int64_t staging_buffer_bytes = std::int64_t{4} << 20;
  int staging_buffers_per_worker = 4;
  std::int64_t scratch_bytes = std::int64_t{256} << 20;  // per stream
  std::int64_t gpu_scratch_bytes = 0;                    // the same on CUDA
  std::int64_t spin_us = 500;                            // of a worker, on CUDA

  // One request.
  std::int64_t max_tensor_bytes = std::int64_t{1} << 40;
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  std::int64_t max_result_bytes = std::int64_t{64} << 20;

  // All requests together.
  std::int64_t max_requests_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{1} << 30;
  int queue_depth_max = 1024;  // per device
  int batch_workers = 4;       // per device
  int max_batch_requests = 256;
  std::int64_t max_batch_bytes = std::int64_t{1} << 20;

  // Resident tensors, together and each.
  std::int64_t max_resident_bytes = std::int64_t{1} << 30;  // per device
  std::int64_t max_resident_tensor_bytes = std::int64_t{1} << 40;
  std::int64_t split_bytes_min = std::int64_t{1} << 30;
  std::int64_t max_resident_tensors = 1024;
  std::int64_t resident_ttl_ms = 600'000;
  std::int64_t max_resident_ttl_ms = 86'400'000;

  // Memory that clients register, all together.
  std::string shared_memory_prefix;  // of segments' names; empty: none is registered
  std::int64_t max_shared_memory_bytes = std::int64_t{64} << 30;
  std::int64_t max_cuda_memory_bytes = 0;  // 0: none is registered
  Switch cuda_memory_results = Switch::kOff;
  std::int64_t max_memory_regions = 1024;

  // Time.
  std::int64_t queue_timeout_ms = 30000;
  std::int64_t stream_idle_timeout_ms = 30000;
  std::int64_t message_timeout_ms = 120'000;
  std::int64_t write_idle_timeout_ms = 30000;
  std::int64_t min_bytes_per_s = std::int64_t{256} << 10;
  std::int64_t drain_delay_ms = 0;
  std::int64_t drain_timeout_ms = 20000;
  std::int64_t exit_when_unready_ms = 0;  // 0: never

  // Log.
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  int log_queue_lines = 8192;
  std::int64_t access_log_fast_per_s = 10;
  std::int64_t access_log_failed_per_s = 1000;
  std::int64_t access_log_slow_ms = 1000;
  std::int64_t log_malformed_per_s = 10;

  std::string otlp_endpoint;  // of spans; empty: none are sent

  // None: each value is good, alone and beside the others.
  std::optional<BadOption> FindBad() const;

  std::vector<ListenAddress> listen_addresses() const;  // REQUIRES: FindBad() finds none
  bool uses_tls() const { return !tls_cert.empty(); }
  bool serves_metrics() const { return !metrics_address.empty() && metrics_address != "none"; }
  // Of a device: `workers_per_device`, or what 0 comes to on kCuda or kCpu.
  int workers(Backend served_by) const;
  Limits limits() const;
  WorkerOptions worker_options() const;
  LogOptions log_options() const;
  AccessLogOptions access_log_options() const;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CONFIG_H_
