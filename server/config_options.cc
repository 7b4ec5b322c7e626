#include "server/config_options.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

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
    {"listen-address", &Config::listen_address, "host:port", kAtStart,
     "The gRPC service; port 0: any"},
    {"metrics-address", &Config::metrics_address, "host:port", kAtStart,
     "The Prometheus page; port 0: any; none: no page"},
    {"port-file", &Config::port_file, "path", kAtStart,
     "File that gets 'grpc_port metrics_port' once the server is ready"},
    {"tls-cert", &Config::tls_cert, "path", kAtStart,
     "PEM certificate of the gRPC service, with those between it and the root; none: no TLS"},
    {"tls-key", &Config::tls_key, "path", kAtStart, "PEM private key of that certificate"},
    {"tls-client-ca", &Config::tls_client_ca, "path", kAtStart,
     "PEM certificates of which one has to have signed each client's (mutual TLS)"},
    {"compression", &Config::compression, "", kAtStart,
     "Messages that clients compress (gzip, deflate); taken: of one gRPC takes the memory of all "
     "of it, up to a thousand times what was sent, before its size is known"},
    {"backend", &Config::backend, "", kAtStart,
     "Device to reduce on; auto: the GPUs, and the CPU only where no GPU is present"},
    {"streams", &Config::streams, "requests", kAtStart,
     "Requests reduced at a time per device; 0: 8 on CUDA, max(4, processors) on the CPU", 0, 1024},
    {"slab-bytes", &Config::slab_bytes, "bytes", kAtStart,
     "One staging buffer, a multiple of 64KiB; one copy to the device", 64 * kKiB, kGiB},
    {"slabs-per-stream", &Config::slabs_per_stream, "slabs", kAtStart,
     "Staging buffers of a stream", 2, 64},
    {"scratch-bytes", &Config::scratch_bytes, "bytes", kAtStart,
     "Most partial states and results that one reduction may hold", kMiB, kMaxBytes},
    {"look-us", &Config::look_us, "us", kAtStart,
     "Time that a GPU's stream which has worked looks for its next request before its thread "
     "sleeps, never longer than it has worked; 0: none",
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
     "Requests admitted at a time", 1, 1 << 20},
    {"max-bytes-in-flight", &Config::max_bytes_in_flight, "bytes", kOnReload,
     "Payload held by admitted requests at a time; what is on its way in may hold as much again",
     64 * kKiB, kMaxBytes},
    {"queue-depth-max", &Config::queue_depth_max, "requests", kOnReload,
     "Requests waiting for one device", 1, 1 << 20},
    {"batch-lanes", &Config::batch_lanes, "batches", kAtStart,
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
     "Time without a use after which a resident tensor ends, unless its client said otherwise", 1,
     kDayMs},
    {"max-resident-ttl-ms", &Config::max_resident_ttl_ms, "ms", kOnReload,
     "Longest such time that a client may ask for", 1, 30 * kDayMs},
    {"shared-memory-prefix", &Config::shared_memory_prefix, "", kOnReload,
     "Beginning of the names of the POSIX shared memory segments that clients may register; /: any "
     "name; none: no segment"},
    {"max-shared-memory-bytes", &Config::max_shared_memory_bytes, "bytes", kOnReload,
     "Registered shared memory, which is locked in memory where a GPU reads it", 0, kMaxBytes},
    {"max-cuda-memory-bytes", &Config::max_cuda_memory_bytes, "bytes", kOnReload,
     "Memory on GPUs that clients' processes may register (CUDA IPC); 0: none", 0, kMaxBytes},
    {"max-memory-regions", &Config::max_memory_regions, "regions", kOnReload,
     "Registered regions of clients' memory", 0, 1 << 16},
    {"stream-idle-timeout-ms", &Config::stream_idle_timeout_ms, "ms", kOnReload,
     "Silence after which a ReduceStream or WriteTensor is ended", 1, kDayMs},
    {"drain-delay-ms", &Config::drain_delay_ms, "ms", kOnReload,
     "Time after SIGTERM in which the server serves on, but no longer says that it is ready", 0,
     kDayMs},
    {"drain-timeout-ms", &Config::drain_timeout_ms, "ms", kOnReload,
     "Time that running requests then get to end", 0, kDayMs},
    {"log-level", &Config::log_level, "", kOnReload, "Least level that is logged"},
    {"log-format", &Config::log_format, "", kAtStart, "Form of log lines on stderr"},
    {"access-log-fast-per-s", &Config::access_log_fast_per_s, "lines/s", kOnReload,
     "Most lines for fast successes; 0: none", 0, 1 << 20},
    {"access-log-failed-per-s", &Config::access_log_failed_per_s, "lines/s", kOnReload,
     "Most lines for requests that were refused or failed", 0, 1 << 20},
    {"access-log-slow-ms", &Config::access_log_slow_ms, "ms", kOnReload,
     "A success that takes as long is not fast: it always has a line", 0, kDayMs},
    {"log-queue-lines", &Config::log_queue_lines, "lines", kAtStart,
     "Log lines that wait to be written; more push out the oldest", 1, 1 << 20},
};

template <typename Enum>
using Choices = std::map<std::string, Enum>;

// The names of an option's choices.
const Choices<Backend>& ChoicesOf(Backend Config::*) {
  static const auto& choices = *new Choices<Backend>{
      {"auto", Backend::kAuto}, {"cuda", Backend::kCuda}, {"cpu", Backend::kCpu}};
  return choices;
}
const Choices<LogLevel>& ChoicesOf(LogLevel Config::*) {
  static const auto& choices = *new Choices<LogLevel>{{"debug", LogLevel::kDebug},
                                                      {"info", LogLevel::kInfo},
                                                      {"warning", LogLevel::kWarning},
                                                      {"error", LogLevel::kError}};
  return choices;
}
const Choices<LogFormat>& ChoicesOf(LogFormat Config::*) {
  static const auto& choices =
      *new Choices<LogFormat>{{"text", LogFormat::kText}, {"json", LogFormat::kJson}};
  return choices;
}

const Choices<Compression>& ChoicesOf(Compression Config::*) {
  static const auto& choices =
      *new Choices<Compression>{{"refused", Compression::kRefused}, {"taken", Compression::kTaken}};
  return choices;
}

// WARPFOLD_SLAB_BYTES for slab-bytes.
std::string EnvironmentName(const char* name) {
  std::string variable = "WARPFOLD_";
  for (const char* c = name; *c != '\0'; ++c) {
    variable += *c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return variable;
}

bool InBytes(const ConfigOption& option) { return std::string_view(option.unit) == "bytes"; }

// As a flag or the file takes it: 4MiB for 4194304.
std::string BytesText(std::int64_t value) {
  static constexpr std::pair<int, const char*> kUnits[] = {
      {40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [shift, unit] : kUnits) {
    if (value != 0 && value % (std::int64_t{1} << shift) == 0) {
      return absl::StrCat(value >> shift, unit);
    }
  }
  return absl::StrCat(value);
}

std::string NumberText(const ConfigOption& option, std::int64_t value) {
  return InBytes(option) ? BytesText(value) : absl::StrCat(value);
}

// Calls `visit` with the option's pointer to member, in its own type.
template <typename Visit>
auto VisitField(const ConfigOption& option, const Visit& visit) {
  return std::visit(visit, option.field);
}

std::string ValueText(const ConfigOption& option, const Config& config) {
  return VisitField(option, [&](auto field) -> std::string {
    const auto& value = config.*field;
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      return value;
    } else if constexpr (std::is_integral_v<Value>) {
      return NumberText(option, value);
    } else {
      for (const auto& [name, choice] : ChoicesOf(field)) {
        if (choice == value) return name;
      }
      return "";
    }
  });
}

bool IsNumber(const ConfigOption& option) {
  return VisitField(option, [](auto field) {
    return std::is_integral_v<std::decay_t<decltype(std::declval<Config>().*field)>>;
  });
}

// "auto|cpu|cuda" of a choice; empty for others.
std::string ChoiceNames(const ConfigOption& option) {
  return VisitField(option, [](auto field) {
    std::string names;
    if constexpr (std::is_enum_v<std::decay_t<decltype(std::declval<Config>().*field)>>) {
      for (const auto& [name, choice] : ChoicesOf(field)) {
        absl::StrAppend(&names, names.empty() ? "" : "|", name);
      }
    }
    return names;
  });
}

void AddFlag(CLI::App& app, const ConfigOption& option, Config& config) {
  VisitField(option, [&](auto field) {
    auto& value = config.*field;
    std::string help = option.meaning;
    if (*option.unit != '\0') absl::StrAppend(&help, " (", option.unit, ")");
    CLI::Option* flag = app.add_option(absl::StrCat("--", option.name), value, help)
                            ->envname(EnvironmentName(option.name))
                            ->default_str(ValueText(option, config));
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) {
      flag->transform(CLI::CheckedTransformer(ChoicesOf(field), CLI::ignore_case)
                          .description(ChoiceNames(option)));
    } else if (InBytes(option)) {  // 4194304, 4MiB, 4 MB, 4m: all powers of 1024
      flag->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
    }
  });
}

std::string RangeText(const ConfigOption& option) {
  if (!IsNumber(option)) return ChoiceNames(option);
  return absl::StrCat(NumberText(option, option.low), " to ", NumberText(option, option.high));
}

// '|' ends a cell of a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

// An empty value, of a script's unset variable, must not pass for a flag that was left out: there
// would be no TLS, or no time to drain.
void CheckMayBeEmpty(const std::string& flag) {
  for (const char* const name : {"--metrics-address", "--port-file", "--shared-memory-prefix"}) {
    if (flag == name) return;
  }
  if (flag.rfind("--", 0) == 0) throw CLI::ValidationError(flag, "is empty");
}

}  // namespace

absl::Span<const ConfigOption> ConfigOptions() { return kOptions; }

void AddFlags(CLI::App& app, Config& config) {
  for (const ConfigOption& option : kOptions) AddFlag(app, option, config);
  // Not by envname: CLI11 reads the file before it looks at the environment.
  const char* const file = std::getenv("WARPFOLD_CONFIG");
  const bool has_file = file != nullptr && *file != '\0';
  app.set_config("--config", has_file ? file : "",
                 "TOML or INI file with any of these options, without dashes (Env:WARPFOLD_CONFIG)",
                 /*config_required=*/has_file);
  app.allow_config_extras(CLI::config_extras_mode::error);
}

void ParseFlags(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> arguments;  // the last one first, as CLI11 takes them
  for (int i = argc - 1; i > 0; --i) {
    const std::string argument = argv[i];
    // CLI11 takes what follows "--option=" for its value: as two arguments it is the empty one.
    const bool is_empty = argument.size() > 3 && argument.rfind("--", 0) == 0 &&
                          argument.find('=') == argument.size() - 1;
    if (is_empty) arguments.emplace_back();
    arguments.push_back(is_empty ? argument.substr(0, argument.size() - 1) : argument);
    if (arguments.size() > 1 && arguments[arguments.size() - 2].empty()) {
      CheckMayBeEmpty(arguments.back());
    }
  }
  app.parse(std::move(arguments));
}

absl::StatusOr<Config> ReadConfig(int argc, const char* const* argv) {
  CLI::App app;
  Config config;
  AddFlags(app, config);
  try {
    ParseFlags(app, argc, argv);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  return config;
}

std::string ToFile(const Config& config) {
  std::string text;
  for (const ConfigOption& option : kOptions) {
    absl::StrAppend(&text, "# ", option.meaning, "\n", option.name, " = \"",
                    ValueText(option, config), "\"\n");
  }
  return text;
}

std::vector<std::string> Differing(const Config& a, const Config& b, Change change) {
  std::vector<std::string> names;
  for (const ConfigOption& option : kOptions) {
    if (option.change != change) continue;
    if (VisitField(option, [&](auto field) { return a.*field != b.*field; })) {
      names.emplace_back(option.name);
    }
  }
  return names;
}

void TakeReloadable(const Config& next, Config& config) {
  for (const ConfigOption& option : kOptions) {
    if (option.change != Change::kOnReload) continue;
    VisitField(option, [&](auto field) { config.*field = next.*field; });
  }
}

std::string OptionsPage() {
  const Config defaults;
  std::string text =
      "| flag | key in the file | variable | unit | default | values | SIGHUP | meaning |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ConfigOption& option : kOptions) {
    const std::string value = ValueText(option, defaults);
    absl::StrAppend(&text, "| `--", option.name, "` | `", option.name, "` | `",
                    EnvironmentName(option.name), "` | ", option.unit, " | ",
                    value.empty() ? "" : absl::StrCat("`", value, "`"), " | ",
                    Cell(RangeText(option)), " | ", option.change == Change::kOnReload ? "yes" : "",
                    " | ", option.meaning, " |\n");
  }
  return text;
}

}  // namespace warpfold
