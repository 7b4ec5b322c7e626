#include "server/config.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

const std::map<std::string, Backend> kBackends = {
    {"auto", Backend::kAuto}, {"cuda", Backend::kCuda}, {"cpu", Backend::kCpu}};
const std::map<std::string, LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                                    {"info", LogLevel::kInfo},
                                                    {"warning", LogLevel::kWarning},
                                                    {"error", LogLevel::kError}};
const std::map<std::string, LogFormat> kLogFormats = {{"text", LogFormat::kText},
                                                      {"json", LogFormat::kJson}};

// WARPFOLD_SLAB_BYTES for --slab-bytes.
std::string EnvironmentName(const std::string& flag) {
  std::string name = "WARPFOLD_";
  for (const char c : flag.substr(2)) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

template <typename T>
CLI::Option* Flag(CLI::App& app, const std::string& flag, T& value, const std::string& help) {
  return app.add_option(flag, value, help)->envname(EnvironmentName(flag))->capture_default_str();
}

// Takes 4194304, 4MiB, 4 MB, 4m: all powers of 1024.
void Bytes(CLI::App& app, const std::string& flag, std::int64_t& value, const std::string& help) {
  Flag(app, flag, value, help)->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
}

template <typename Enum>
void Choice(CLI::App& app, const std::string& flag, Enum& value, const std::string& help,
            const std::map<std::string, Enum>& choices) {
  std::string names;
  std::string chosen;
  for (const auto& [name, choice] : choices) {
    names += (names.empty() ? "" : "|") + name;
    if (choice == value) chosen = name;
  }
  app.add_option(flag, value, help)
      ->envname(EnvironmentName(flag))
      ->transform(CLI::CheckedTransformer(choices, CLI::ignore_case).description(names))
      ->default_str(chosen);
}

absl::Status InRange(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not between ", low, " and ", high));
}

}  // namespace

void AddFlags(CLI::App& app, Config& config) {
  Flag(app, "--listen-address", config.listen_address,
       "host:port of the gRPC service; port 0: any");
  Flag(app, "--metrics-address", config.metrics_address,
       "host:port of the Prometheus page; port 0: any; none: no page");
  Flag(app, "--port-file", config.port_file,
       "File that gets 'grpc_port metrics_port' once both are served");
  Choice(app, "--backend", config.backend, "Device to reduce on; auto: CUDA if a GPU answers",
         kBackends);
  Flag(app, "--streams", config.streams,
       "Requests reduced at a time per device; 0: 8 on CUDA, max(4, processors) on the CPU");
  Bytes(app, "--slab-bytes", config.slab_bytes,
        "Bytes of one staging buffer, a multiple of 64 KiB; one copy to the device");
  Flag(app, "--slabs-per-stream", config.slabs_per_stream, "Staging buffers of a stream");
  Bytes(app, "--scratch-bytes", config.scratch_bytes,
        "Most bytes of partial states and results that one reduction may hold");
  Bytes(app, "--max-tensor-bytes", config.max_tensor_bytes, "Largest tensor, in bytes");
  Bytes(app, "--max-message-bytes", config.max_message_bytes,
        "Largest payload of one message, in bytes; larger tensors go by ReduceStream");
  Bytes(app, "--max-result-bytes", config.max_result_bytes,
        "Largest results of one request, in bytes; gRPC clients take 4 MiB unless told otherwise");
  Flag(app, "--max-requests-in-flight", config.max_requests_in_flight,
       "Requests admitted at a time");
  Bytes(app, "--max-bytes-in-flight", config.max_bytes_in_flight,
        "Payload bytes held by admitted requests at a time");
  Flag(app, "--queue-depth-max", config.queue_depth_max, "Requests waiting for one device");
  Flag(app, "--stream-idle-timeout-ms", config.stream_idle_timeout_ms,
       "Silence after which a ReduceStream is ended, in milliseconds");
  Flag(app, "--drain-timeout-ms", config.drain_timeout_ms,
       "Time that running requests get after SIGTERM, in milliseconds");
  Choice(app, "--log-level", config.log_level, "Least level that is logged", kLogLevels);
  Choice(app, "--log-format", config.log_format, "Form of log lines on stderr", kLogFormats);
  app.set_config("--config", "", "TOML or INI file with any of these options, without dashes")
      ->envname("WARPFOLD_CONFIG");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

absl::Status Config::Validate() const {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
  constexpr std::int64_t kMaxMessageBytes = std::int64_t{2047}
                                            << 20;  // protobuf's 2 GiB, header and all
  constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;
  constexpr std::int64_t kSlabUnit = 64 << 10;
  if (listen_address.empty()) {
    return absl::InvalidArgumentError("listen-address: is empty");
  }
  if (slab_bytes % kSlabUnit != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("slab-bytes: ", slab_bytes, " is not a multiple of ", kSlabUnit));
  }
  for (const absl::Status& status : {
           InRange("streams", streams, 0, 1024),
           InRange("slab-bytes", slab_bytes, kSlabUnit, std::int64_t{1} << 30),
           InRange("slabs-per-stream", slabs_per_stream, 2, 64),
           InRange("scratch-bytes", scratch_bytes, 1 << 20, kMaxBytes),
           InRange("max-tensor-bytes", max_tensor_bytes, 1, kMaxBytes),
           InRange("max-message-bytes", max_message_bytes, 64 << 10, kMaxMessageBytes),
           InRange("max-result-bytes", max_result_bytes, 8, kMaxMessageBytes),
           InRange("max-requests-in-flight", max_requests_in_flight, 1, 1 << 20),
           InRange("max-bytes-in-flight", max_bytes_in_flight, 64 << 10, kMaxBytes),
           InRange("queue-depth-max", queue_depth_max, 1, 1 << 20),
           InRange("stream-idle-timeout-ms", stream_idle_timeout_ms, 1, kDayMs),
           InRange("drain-timeout-ms", drain_timeout_ms, 0, kDayMs),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

Limits Config::limits() const {
  Limits limits;
  limits.max_tensor_bytes = max_tensor_bytes;
  limits.max_message_bytes = max_message_bytes;
  limits.max_result_bytes = max_result_bytes;
  limits.max_requests_in_flight = max_requests_in_flight;
  limits.max_bytes_in_flight = max_bytes_in_flight;
  limits.stream_idle_timeout = std::chrono::milliseconds(stream_idle_timeout_ms);
  return limits;
}

LaneOptions Config::lane_options() const {
  return {.slab_bytes = static_cast<std::size_t>(slab_bytes),
          .slabs_per_lane = slabs_per_stream,
          .scratch_bytes = static_cast<std::size_t>(scratch_bytes)};
}

}  // namespace warpfold
