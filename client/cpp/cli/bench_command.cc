// `warpfold bench`: a load on a server, and what it came to.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/bench_report.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/load/load.h"
#include "client/cpp/load/payload.h"

namespace warpfold::client {
namespace {

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kLiveInterval(100);

absl::StatusOr<LoadPath> ParsePath(const std::string& method) {
  if (method == "unary") return LoadPath::kUnary;
  if (method == "stream") return LoadPath::kStream;
  if (method == "striped") return LoadPath::kStriped;
  if (method == "many") return LoadPath::kMany;
  if (method == "resident") return LoadPath::kResident;
  if (method == "infer") return LoadPath::kInfer;
  if (method == "shared") return LoadPath::kShared;
  if (method == "cuda") return LoadPath::kCuda;
  return absl::InvalidArgumentError(absl::StrCat("--method: no '", method, "'"));
}

// The bytes that pairs of hexadecimal digits stand for; the option's validator has checked that
// `hex` is nothing else. Abseil's HexStringToBytes takes other arguments in Debian 13 than in
// Debian 12.
std::string BytesOfHex(const std::string& hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

absl::StatusOr<LoadOptions> LoadOptionsOf(const ServerFlags& server, const BenchFlags& flags) {
  LoadOptions options;
  options.target = server.server;
  options.timeout = TimeoutOf(server);
  absl::StatusOr<ConnectionOptions> connection = ConnectionOptionsOf(server);
  if (!connection.ok()) return connection.status();
  options.connection = *std::move(connection);
  const absl::StatusOr<LoadPath> path = ParsePath(flags.method);
  if (!path.ok()) return path.status();
  options.path = *path;
  const absl::StatusOr<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.ok()) return dtype.status();
  options.dtype = *dtype;
  options.ops.clear();
  for (const std::string& name : flags.ops) {
    const absl::StatusOr<Op> op = ParseOp(name);
    if (!op.ok()) return op.status();
    options.ops.push_back(*op);
  }
  if (flags.size_bytes % ElementBytes(*dtype) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--size: ", flags.size_bytes,
                                                   " bytes are not whole elements of ", flags.dtype,
                                                   ", which have ", ElementBytes(*dtype)));
  }
  options.clients = flags.clients;
  options.rate = flags.rate;
  options.window = flags.window;
  options.chunk_bytes = flags.chunk_bytes;
  options.connections = flags.connections;
  options.stripe_bytes_min = flags.stripe_bytes_min;
  options.cuda_memory = {BytesOfHex(flags.cuda_handle), flags.cuda_ordinal};
  options.spin_max = std::chrono::microseconds(flags.spin_us);
  options.warmup = Seconds(flags.warmup_s);
  options.duration = Seconds(flags.duration_s);
  options.requests_min = flags.requests_min;
  options.give_up_after = Seconds(flags.give_up_after_s);
  return options;
}

// Shows the counters on stderr until the object's end.
class LiveLine {
 public:
  LiveLine(const BenchFlags& flags, const LoadCounters& counters)
      : flags_(flags), counters_(counters) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~LiveLine() {
    thread_ = {};
    std::fputs(kWipeLine, stderr);
  }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

 private:
  void Run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    std::optional<steady_clock::time_point> start;
    while (!wake.wait_for(lock, stop, kLiveInterval, [&] { return stop.stop_requested(); })) {
      if (!counters_.measuring) continue;
      const auto now = steady_clock::now();
      if (!start.has_value()) start = now - kLiveInterval;  // it began since the last look
      const std::string line =
          BenchProgressLine(flags_, counters_.answered, counters_.failed, now - *start);
      std::fprintf(stderr, "%s%s", kWipeLine, Fitted(line, StderrColumns()).c_str());
    }
  }

  const BenchFlags& flags_;
  const LoadCounters& counters_;
  std::jthread thread_;
};

}  // namespace

absl::Status RunBench(const ServerFlags& server, const BenchFlags& flags) {
  const absl::StatusOr<LoadOptions> options = LoadOptionsOf(server, flags);
  if (!options.ok()) return options.status();
  const absl::StatusOr<UniquePayload> payload =
      UniquePayload::Make(options->dtype, flags.size_bytes);
  if (!payload.ok()) return payload.status();
  absl::StatusOr<LoadReport> report;
  {
    LoadCounters counters;
    std::optional<LiveLine> live;
    if (isatty(STDERR_FILENO) == 1) live.emplace(flags, counters);
    report = RunLoad(*options, payload->bytes(), counters);
  }
  if (!report.ok()) return report.status();
  if (server.json) {
    std::cout << JsonText(BenchJson(server.server, flags, *report)) << "\n";
  } else {
    std::cout << BenchText(server.server, flags, *report);
  }
  std::cout.flush();  // before what stderr says of it
  return report->lost;
}

}  // namespace warpfold::client
