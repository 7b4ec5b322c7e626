#include "server/config_options.h"

#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace warpfold {
namespace {

constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGiB = 1 << 30;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxMessageBytes = 2047 * kMiB;  // protobuf's 2 GiB, header and all
constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;

constexpr Change kAtStart = Change::kAtStart;
constexpr Change kOnReload = Change::kOnReload;

constexpr ConfigOption kOptions[] = {
    {"listen-address", &Config::listen_address, "address", kAtStart,
     "The gRPC service: host:port or unix:/PATH mode=0660 group=NAME, commas between several; "
     "0.0.0.0: on all addresses of this host, for everyone who reaches them unless --callers-file "
     "says who; port 0: any"},
    {"metrics-address", &Config::metrics_address, "host:port", kAtStart,
     "The Prometheus page; none: no page"},
    {"metrics-tls", &Config::metrics_tls, "", kAtStart,
     "TLS of that page, by --tls-cert; clients have to show a certificate where --tls-client-ca is "
     "given"},
    {"metrics-auth", &Config::metrics_auth, "", kAtStart,
     "on: for callers of --callers-file with the scope metrics alone, who show their token or "
     "certificate; off: for everyone who reaches it"},
    {"port-file", &Config::port_file, "path", kAtStart,
     "File that gets 'grpc_port metrics_port' once the server is ready"},
    {"tls-cert", &Config::tls_cert, "path", kAtStart,
     "PEM certificate of the gRPC service, with those between it and the root; none: no TLS"},
    {"tls-key", &Config::tls_key, "path", kAtStart, "PEM private key of that certificate"},
    {"tls-client-ca", &Config::tls_client_ca, "path", kAtStart,
     "PEM certificates of which one has to have signed each client's (mutual TLS)"},
    {"callers-file", &Config::callers_file, "path", kOnReload,
     "Who may call, by which token or certificate, and do what (docs/callers.md), read again at "
     "each SIGHUP; none: nobody is asked"},
    {"compression", &Config::compression, "", kAtStart,
     "Messages that clients compress (gzip, deflate); taken: of one gRPC takes the memory of all "
     "of it, up to a thousand times what was sent, before its size is known"},
    {"max-connections", &Config::max_connections, "connections", kOnReload,
     "Connections at a time, at all addresses together: of two descriptors each, of half of those "
     "that the server itself does not need; a client's address has no more than it leaves to the "
     "others; one beyond is closed at once",
     1, 1 << 24},
    {"max-streams-per-connection", &Config::max_streams_per_connection, "calls", kAtStart,
     "Calls at a time on one connection; gRPC's clients let more of them wait", 1, 1 << 20},
    {"handshake-timeout-ms", &Config::handshake_timeout_ms, "ms", kAtStart,
     "Time in which a new connection has to end its handshake, of TLS and of HTTP/2", 1, kDayMs},
    {"connection-idle-timeout-ms", &Config::connection_idle_timeout_ms, "ms", kAtStart,
     "Time without a call after which a connection is closed; gRPC's clients open another with "
     "their next call; 0: none",
     0, kDayMs},
    {"max-connection-age-ms", &Config::max_connection_age_ms, "ms", kAtStart,
     "Age, give or take a tenth, from which a connection takes no new calls: for load balancers "
     "that tell connections apart and no calls; 0: none",
     0, kDayMs},
    {"max-connection-age-grace-ms", &Config::max_connection_age_grace_ms, "ms", kAtStart,
     "Time that the calls on such a connection then get to end", 1, kDayMs},
    {"keepalive-ms", &Config::keepalive_ms, "ms", kAtStart,
     "Silence of a connection after which the server asks whether its client is still there", 1000,
     kDayMs},
    {"keepalive-timeout-ms", &Config::keepalive_timeout_ms, "ms", kAtStart,
     "Time in which it has to answer, and in which what was sent has to arrive", 1000, kDayMs},
    {"reflection", &Config::reflection, "", kAtStart,
     "gRPC server reflection, by which grpcurl and others learn the services"},
    {"max-reflection-streams", &Config::max_reflection_streams, "calls", kAtStart,
     "Calls of reflection at a time", 1, 1024},
    {"max-health-watches", &Config::max_health_watches, "calls", kAtStart,
     "Calls of grpc.health.v1.Health/Watch at a time, of which one address may have a quarter", 1,
     1 << 20},
    {"backend", &Config::backend, "", kAtStart,
     "Device to reduce on; auto: the GPUs, and the CPU only where no GPU is present"},
    {"workers-per-device", &Config::workers_per_device, "requests", kAtStart,
     "Requests reduced at a time per device; 0: 8 on CUDA, max(4, processors) on the CPU", 0, 1024},
    {"staging-buffer-bytes", &Config::staging_buffer_bytes, "bytes", kAtStart,
     "One staging buffer, a multiple of 64KiB; one copy to the device", 64 * kKiB, kGiB},
    {"staging-buffers-per-worker", &Config::staging_buffers_per_worker, "buffers", kAtStart,
     "Staging buffers of one worker", 2, 64},
    {"scratch-bytes", &Config::scratch_bytes, "bytes", kAtStart,
     "Most partial states and results that one reduction may hold; a GPU sets as much aside", kMiB,
     kMaxBytes},
    {"gpu-scratch-bytes", &Config::gpu_scratch_bytes, "bytes", kAtStart,
     "The same on a GPU, taken when it is needed; 0: a sixteenth of the GPU's memory, of one below "
     "40 GiB up to 2.5 GiB and a sixth, and no less than --scratch-bytes",
     0, kMaxBytes},
    {"spin-us", &Config::spin_us, "us", kAtStart,
     "Time that a GPU's worker spins for its next request before its thread parks, never longer "
     "than it has worked; 0: none",
     0, 1'000'000},
    {"max-tensor-bytes", &Config::max_tensor_bytes, "bytes", kOnReload, "Largest tensor", 1,
     kMaxBytes},
    {"max-message-bytes", &Config::max_message_bytes, "bytes", kAtStart,
     "Largest payload of one message; larger tensors go by ReduceStream", 64 * kKiB,
     kMaxMessageBytes},
    {"max-result-bytes", &Config::max_result_bytes, "bytes", kOnReload,
     "Largest results of one request; gRPC clients take 4MiB unless told otherwise", 8,
     kMaxMessageBytes},
    {"max-requests-in-flight", &Config::max_requests_in_flight, "requests", kOnReload,
     "Requests admitted at a time whose answer is not made yet, of which those that need a worker "
     "may be three quarters",
     1, 1 << 20},
    {"max-bytes-in-flight", &Config::max_bytes_in_flight, "bytes", kOnReload,
     "Payload and results held by admitted requests, and answers until they are read, of which "
     "those above 64KiB may hold half, and those above 4KiB come in while all hold less than three "
     "quarters; what is on its way in may hold as much again, and calls that wait for their "
     "clients as much, at 16KiB each, but 1024 to 8192 of them, and calls that "
     "wait to be read as much, at 32KiB each, but 1024 of them at least",
     64 * kKiB, kMaxBytes},
    {"queue-depth-max", &Config::queue_depth_max, "requests", kOnReload,
     "Requests waiting for the workers of one device, and as many small ones for its batches", 1,
     1 << 20},
    {"batch-workers", &Config::batch_workers, "batches", kAtStart,
     "Batches of small tensors under way at a time on one GPU", 1, 64},
    {"max-batch-requests", &Config::max_batch_requests, "requests", kAtStart,
     "Small tensors that a GPU reduces together; 0: none", 0, 4096},
    {"max-batch-bytes", &Config::max_batch_bytes, "bytes", kAtStart, "Their bytes, together",
     64 * kKiB, 256 * kMiB},
    {"max-resident-bytes", &Config::max_resident_bytes, "bytes", kOnReload,
     "Resident tensors per device, in its memory; 0: none", 0, kMaxBytes},
    {"max-resident-tensor-bytes", &Config::max_resident_tensor_bytes, "bytes", kOnReload,
     "Largest resident tensor", 0, kMaxBytes},
    {"split-bytes-min", &Config::split_bytes_min, "bytes", kOnReload,
     "Resident tensors of so many bytes and more lie on all devices, a part on each", 1, kMaxBytes},
    {"max-resident-tensors", &Config::max_resident_tensors, "tensors", kOnReload,
     "Resident tensors on all devices", 0, 1 << 16},
    {"resident-ttl-ms", &Config::resident_ttl_ms, "ms", kOnReload,
     "Time without a use after which a resident tensor ends; where its client asked for more, as "
     "soon as another needs its room",
     1, kDayMs},
    {"max-resident-ttl-ms", &Config::max_resident_ttl_ms, "ms", kOnReload,
     "Longest such time that a client may ask for", 1, 30 * kDayMs},
    {"shared-memory-prefix", &Config::shared_memory_prefix, "", kOnReload,
     "Beginning of the names of the POSIX shared memory segments that clients may register; /: any "
     "name; none: no segment"},
    {"max-shared-memory-bytes", &Config::max_shared_memory_bytes, "bytes", kOnReload,
     "Registered shared memory, which is locked in memory where a GPU reads it", 0, kMaxBytes},
    {"max-cuda-memory-bytes", &Config::max_cuda_memory_bytes, "bytes", kOnReload,
     "Memory on GPUs that clients' processes may register (CUDA IPC); 0: none", 0, kMaxBytes},
    {"cuda-memory-results", &Config::cuda_memory_results, "", kOnReload,
     "Results that ModelInfer writes into such memory; whoever has a handle may then have it "
     "written over, and not just read"},
    {"max-memory-regions", &Config::max_memory_regions, "regions", kOnReload,
     "Registered regions of clients' memory", 0, 1 << 16},
    {"queue-timeout-ms", &Config::queue_timeout_ms, "ms", kOnReload,
     "Time that a request may wait for its turns, all in all, before it is refused", 1, kDayMs},
    {"stream-idle-timeout-ms", &Config::stream_idle_timeout_ms, "ms", kOnReload,
     "Silence after which a ReduceStream or WriteTensor is ended; their chunks, all in all, may "
     "take as long beside the time of their bytes at --min-bytes-per-s",
     1, kDayMs},
    {"message-timeout-ms", &Config::message_timeout_ms, "ms", kOnReload,
     "Time in which a request that is one message has to be whole; a stream of requests that "
     "brings none for as long, and has none under way, ends too",
     1, kDayMs},
    {"write-idle-timeout-ms", &Config::write_idle_timeout_ms, "ms", kOnReload,
     "Time that a client may take to read an answer, beside that of its bytes at "
     "--min-bytes-per-s; a second, and 64MiB/s, while others are refused for want of bytes",
     1, kDayMs},
    {"min-bytes-per-s", &Config::min_bytes_per_s, "bytes", kOnReload,
     "Rate, in bytes a second, below which a client is too slow", 1, kMaxBytes},
    {"drain-delay-ms", &Config::drain_delay_ms, "ms", kOnReload,
     "Time after SIGTERM in which the server serves on, but no longer says that it is ready", 0,
     kDayMs},
    {"drain-timeout-ms", &Config::drain_timeout_ms, "ms", kOnReload,
     "Time that running requests then get to end", 0, kDayMs},
    {"exit-when-unready-ms", &Config::exit_when_unready_ms, "ms", kAtStart,
     "Time that new clients do not reach the server, by its own probe, after which it drains and "
     "ends with exit code 4; 0: it never does",
     0, kDayMs},
    {"log-level", &Config::log_level, "", kOnReload, "Least level that is logged"},
    {"log-format", &Config::log_format, "", kAtStart, "Form of log lines on stderr"},
    {"access-log-fast-per-s", &Config::access_log_fast_per_s, "lines/s", kOnReload,
     "Most lines for fast successes; 0: none", 0, 1 << 20},
    {"access-log-failed-per-s", &Config::access_log_failed_per_s, "lines/s", kOnReload,
     "Most lines for requests that were refused or failed", 0, 1 << 20},
    {"log-malformed-per-s", &Config::log_malformed_per_s, "lines/s", kOnReload,
     "Most access lines for requests whose bytes are no message, which are not counted as failed",
     0, 1 << 20},
    {"access-log-slow-ms", &Config::access_log_slow_ms, "ms", kOnReload,
     "A success that takes as long is not fast: it always has a line", 0, kDayMs},
    {"log-queue-lines", &Config::log_queue_lines, "lines", kAtStart,
     "Log lines that wait to be written; more push out the oldest", 1, 1 << 20},
    {"otlp-endpoint", &Config::otlp_endpoint, "url", kAtStart,
     "Collector of OpenTelemetry that gets the spans of requests whose clients have them sampled "
     "(http://HOST:4318); builds with opentelemetry-cpp alone have it; none: no spans"},
};

constexpr OptionSection kSections[] = {
    {"Listening, TLS and callers", "listen-address"},
    {"Connections", "compression"},
    {"Devices and their workers", "backend"},
    {"Requests", "max-tensor-bytes"},
    {"Batches of small tensors", "batch-workers"},
    {"Resident tensors", "max-resident-bytes"},
    {"Shared and GPU memory of clients", "shared-memory-prefix"},
    {"Timeouts", "queue-timeout-ms"},
    {"Shutdown", "drain-delay-ms"},
    {"Logs and traces", "log-level"},
};

}  // namespace

absl::Span<const ConfigOption> ConfigOptions() { return kOptions; }

absl::Span<const OptionSection> OptionSections() { return kSections; }

const char* SectionBegunBy(const ConfigOption& option) {
  for (const OptionSection& section : kSections) {
    if (absl::string_view(section.first) == option.name) return section.title;
  }
  return nullptr;
}

std::string EnvironmentName(const char* name) {
  std::string variable = "WARPFOLD_";
  for (const char* c = name; *c != '\0'; ++c) {
    variable += *c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return variable;
}

std::string RangeProblem(const ConfigOption& option, std::int64_t value) {
  if (option.low <= value && value <= option.high) return "";
  return absl::StrCat(value, " is not between ", option.low, " and ", option.high);
}

std::vector<std::string> Differing(const Config& a, const Config& b, Change change) {
  std::vector<std::string> names;
  for (const ConfigOption& option : kOptions) {
    if (option.change != change) continue;
    if (std::visit([&](auto field) { return a.*field != b.*field; }, option.field)) {
      names.emplace_back(option.name);
    }
  }
  return names;
}

void TakeReloadable(const Config& next, Config& config) {
  for (const ConfigOption& option : kOptions) {
    if (option.change != Change::kOnReload) continue;
    std::visit([&](auto field) { config.*field = next.*field; }, option.field);
  }
}

}  // namespace warpfold
