// warpfold_bench: one measurement of one server, as JSON on stdout. run.py makes a benchmark of it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/service/load.h"
#include "bench/service/payload.h"

namespace warpfold::bench {
namespace {

struct Flags {
  LoadOptions load;
  std::size_t payload_bytes = 4096;
  std::vector<std::string> ops = {"sum"};
  double warmup_s = 0.2;
  double duration_s = 1.0;
  std::string gpu;
  std::string driver;
};

void AddFlags(CLI::App& app, Flags& flags) {
  app.add_option("--server", flags.load.server, "host:port")->required();
  app.add_option("--bytes", flags.payload_bytes, "Payload of a request")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_flag("--stream", flags.load.by_stream, "ReduceStream instead of Reduce");
  app.add_option("--clients", flags.load.clients, "Closed loops, each with its own connection")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--op", flags.ops, "Ops of a request")->delimiter(',')->capture_default_str();
  app.add_option("--chunk-bytes", flags.load.chunk_bytes, "Payload of a stream message")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--warmup", flags.warmup_s, "Seconds before measuring")->capture_default_str();
  app.add_option("--seconds", flags.duration_s, "Seconds to measure")->capture_default_str();
  app.add_option("--requests-min", flags.load.requests_min, "At least so many per client")
      ->capture_default_str();
  app.add_option("--gpu", flags.gpu, "Copied into the output");
  app.add_option("--driver", flags.driver, "Copied into the output");
}

std::string UtcNow() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

nlohmann::ordered_json ReportJson(const Flags& flags, const LoadReport& report,
                                  const std::string& command) {
  const double seconds = report.elapsed.count();
  const auto requests = static_cast<double>(report.requests);
  return {{"bytes", flags.payload_bytes},
          {"method", flags.load.by_stream ? "ReduceStream" : "Reduce"},
          {"clients", flags.load.clients},
          {"chunk_bytes",
           flags.load.by_stream ? nlohmann::json(flags.load.chunk_bytes) : nlohmann::json(nullptr)},
          {"ops", flags.ops},
          {"results_per_answer", report.results_per_answer},
          {"requests", report.requests},
          {"seconds", seconds},
          {"rps", requests / seconds},
          {"gb_per_second", requests * static_cast<double>(flags.payload_bytes) / seconds / 1e9},
          {"p50_us", static_cast<double>(report.PercentileNs(50)) / 1e3},
          {"p90_us", static_cast<double>(report.PercentileNs(90)) / 1e3},
          {"p99_us", static_cast<double>(report.PercentileNs(99)) / 1e3},
          {"gpu", flags.gpu},
          {"driver", flags.driver},
          {"date", UtcNow()},
          {"command", command}};
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Measures one warpfold server with a closed loop of clients", "warpfold_bench");
  AddFlags(app, flags);
  CLI11_PARSE(app, argc, argv);
  flags.payload_bytes -= flags.payload_bytes % sizeof(float);
  flags.load.warmup = std::chrono::duration<double>(flags.warmup_s);
  flags.load.duration = std::chrono::duration<double>(flags.duration_s);
  flags.load.ops.clear();
  for (const std::string& name : flags.ops) {
    const absl::StatusOr<client::Op> op = client::ParseOp(name);
    if (!op.ok()) {
      std::cerr << op.status().message() << "\n";
      return 2;
    }
    flags.load.ops.push_back(*op);
  }
  const absl::StatusOr<UniquePayload> payload = UniquePayload::Make(flags.payload_bytes);
  if (!payload.ok()) {
    std::cerr << payload.status().message() << "\n";
    return 1;
  }
  const absl::StatusOr<LoadReport> report = RunLoad(flags.load, payload->bytes());
  if (!report.ok()) {
    std::cerr << flags.load.server << ": " << report.status() << "\n";
    return 1;
  }
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
  std::cout << ReportJson(flags, *report, command).dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
