#include "client/cpp/cli/bench_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/load_report.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/table.h"
#include "client/cpp/cli/wrap.h"

namespace warpfold::client {
namespace {

using Seconds = std::chrono::duration<double>;

struct Rates {
  double rps = 0;
  double gb_per_second = 0;
};

Rates RatesOf(const BenchFlags& flags, std::int64_t answered, Seconds elapsed) {
  if (elapsed.count() <= 0) return {};
  const double rps = static_cast<double>(answered) / elapsed.count();
  return {rps, rps * static_cast<double>(flags.size_bytes) / 1e9};
}

std::string RatesText(const Rates& rates) {
  return absl::StrFormat("%.*f requests/s  %.*f GB/s", rates.rps < 100 ? 2 : 0, rates.rps,
                         rates.gb_per_second < 0.1 ? 4 : 2, rates.gb_per_second);
}

std::string LatencyText(std::chrono::nanoseconds latency) {
  return DurationText(Seconds(latency).count());
}

double Microseconds(std::chrono::nanoseconds latency) {
  return std::chrono::duration<double, std::micro>(latency).count();
}

std::string LoadText(const BenchFlags& flags) {
  return absl::StrCat(flags.method, ", ", BytesText(static_cast<std::int64_t>(flags.size_bytes)),
                      " of ", flags.dtype, ", ", absl::StrJoin(flags.ops, " "), ", ", flags.clients,
                      flags.clients == 1 ? " client, " : " clients, ",
                      flags.rate > 0 ? absl::StrCat(flags.rate, " requests/s asked for")
                                     : std::string("each sends when it is answered"));
}

nlohmann::ordered_json ServerJson(const ServerTimes& server) {
  return {{"receive", Microseconds(server.receive.Percentile(50))},
          {"queue", Microseconds(server.queue.Percentile(50))},
          {"host_to_device", Microseconds(server.host_to_device.Percentile(50))},
          {"kernel", Microseconds(server.kernel.Percentile(50))},
          {"device_to_host", Microseconds(server.device_to_host.Percentile(50))},
          {"total", Microseconds(server.total.Percentile(50))}};
}

}  // namespace

std::string BenchProgressLine(const BenchFlags& flags, std::int64_t answered, std::int64_t failed,
                              Seconds elapsed) {
  const double part = flags.duration_s > 0 ? elapsed.count() / flags.duration_s : 1.0;
  std::string line =
      absl::StrCat(BarText(part), "  ", RatesText(RatesOf(flags, answered, elapsed)));
  if (failed > 0) absl::StrAppend(&line, "  ", failed, " failed");
  return line;
}

std::string BenchText(const std::string& target, const BenchFlags& flags,
                      const LoadReport& report) {
  const LatencyHistogram& latencies = report.latencies;
  Table table({{"SERVER"},
               {Printable(absl::StrCat(target, " ", report.device)), Align::kLeft,
                /*wraps=*/true}});
  table.AddRow({"load", LoadText(flags)});
  table.AddRow(
      {"requests", absl::StrFormat("%d in %.2f s", latencies.count(), report.elapsed.count())});
  table.AddRow({"rate", RatesText(RatesOf(flags, latencies.count(), report.elapsed))});
  if (latencies.count() > 0) {
    table.AddRow({"latency", absl::StrCat("p50 ", LatencyText(latencies.Percentile(50)), "  p90 ",
                                          LatencyText(latencies.Percentile(90)), "  p99 ",
                                          LatencyText(latencies.Percentile(99)), "  p99.9 ",
                                          LatencyText(latencies.Percentile(99.9)), "  max ",
                                          LatencyText(latencies.max()))});
  }
  if (report.server.total.max().count() > 0) {
    table.AddRow({"in the server",
                  absl::StrCat("p50 ", LatencyText(report.server.total.Percentile(50)), ", queued ",
                               LatencyText(report.server.queue.Percentile(50)), ", kernel ",
                               LatencyText(report.server.kernel.Percentile(50)))});
  }
  for (const auto& [code, count] : report.failures) {
    table.AddRow({"failed", absl::StrCat(count, " ", absl::StatusCodeToString(code))});
  }
  return table.Text(StdoutColumns());
}

nlohmann::ordered_json BenchJson(const std::string& target, const BenchFlags& flags,
                                 const LoadReport& report) {
  const LatencyHistogram& latencies = report.latencies;
  const Rates rates = RatesOf(flags, latencies.count(), report.elapsed);
  nlohmann::ordered_json out = {
      {"target", target},
      {"device", report.device},
      {"method", flags.method},
      {"dtype", flags.dtype},
      {"bytes", flags.size_bytes},
      {"ops", flags.ops},
      {"clients", flags.clients},
      {"rate", flags.rate > 0 ? nlohmann::ordered_json(flags.rate) : nlohmann::ordered_json()},
      {"requests", latencies.count()},
      {"failures", nlohmann::json::object()},
      {"lost", report.lost.ok() ? nlohmann::ordered_json()
                                : nlohmann::ordered_json(std::string(report.lost.message()))},
      {"seconds", report.elapsed.count()},
      {"rps", rates.rps},
      {"gb_per_second", rates.gb_per_second},
      {"mean_us", Microseconds(latencies.mean())},
      {"p50_us", Microseconds(latencies.Percentile(50))},
      {"p90_us", Microseconds(latencies.Percentile(90))},
      {"p99_us", Microseconds(latencies.Percentile(99))},
      {"p999_us", Microseconds(latencies.Percentile(99.9))},
      {"max_us", Microseconds(latencies.max())},
      {"server_p50_us", ServerJson(report.server)}};
  for (const auto& [code, count] : report.failures) {
    out["failures"][absl::StatusCodeToString(code)] = count;
  }
  return out;
}

}  // namespace warpfold::client
