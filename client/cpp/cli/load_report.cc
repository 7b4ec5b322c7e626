#include "client/cpp/cli/load_report.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/table.h"

namespace warpfold::client {
namespace {

std::string Rate(double per_s) { return absl::StrFormat("%.1f", per_s); }

// What is counted in whole things; none where the page has NaN, or what is no count.
std::optional<std::int64_t> Whole(std::optional<double> gauge) {
  if (!gauge.has_value() || !(std::fabs(*gauge) < 0x1p63)) return std::nullopt;
  return std::llround(*gauge);
}

std::string Gauge(std::optional<double> value) {
  const std::optional<std::int64_t> whole = Whole(value);
  return whole.has_value() ? absl::StrCat(*whole) : "-";
}

// "1.20 GB/s  in flight 4  queue 0  workers 2 of 8  refused 0.0/s"
std::string Summary(const ServerLoad& load) {
  return absl::StrFormat("%.2f GB/s  in flight %s  queue %s  workers %s of %s  refused %s/s",
                         load.bytes_per_s / 1e9, Gauge(load.in_flight), Gauge(load.queue_depth),
                         Gauge(load.workers_in_use), Gauge(load.workers),
                         Rate(load.refusals_per_s));
}

template <typename T>
nlohmann::json Optional(std::optional<T> value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

std::string DurationText(std::optional<double> seconds) {
  if (!seconds.has_value()) return "-";
  double value = *seconds * 1e6;
  const char* unit = "us";
  if (value >= 999.5) {
    value /= 1e3;
    unit = "ms";
  }
  if (value >= 999.5) {
    value /= 1e3;
    unit = "s";
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f %s", decimals, value, unit);
}

std::string LoadScreen(const std::string& title, const ServerLoad& load) {
  Table table({{"METHOD"},
               {"REQUESTS/S", Align::kRight},
               {"ERRORS/S", Align::kRight},
               {"P50", Align::kRight},
               {"P99", Align::kRight}});
  for (const auto& [name, method] : load.methods) {
    table.AddRow({Printable(name), Rate(method.requests_per_s), Rate(method.errors_per_s),
                  DurationText(method.p50_s), DurationText(method.p99_s)});
  }
  return absl::StrCat(title, "\n\n", table.Text(), "\n", Summary(load), "\n");
}

std::string LoadLine(const std::string& time, const ServerLoad& load) {
  std::string line = absl::StrCat(time, "  ", Summary(load));
  for (const auto& [name, method] : load.methods) {
    if (method.requests_per_s <= 0) continue;
    absl::StrAppend(&line, "  ", Printable(name), " ", Rate(method.requests_per_s), "/s, ",
                    Rate(method.errors_per_s), " errors/s, p50 ", DurationText(method.p50_s),
                    ", p99 ", DurationText(method.p99_s));
  }
  return line + "\n";
}

nlohmann::ordered_json LoadJson(const std::string& time, const ServerLoad& load) {
  nlohmann::ordered_json methods = nlohmann::json::object();
  for (const auto& [name, method] : load.methods) {
    methods[name] = {{"requests_per_second", method.requests_per_s},
                     {"errors_per_second", method.errors_per_s},
                     {"p50_seconds", Optional(method.p50_s)},
                     {"p99_seconds", Optional(method.p99_s)}};
  }
  return {{"time", time},
          {"seconds", load.seconds},
          {"bytes_per_second", load.bytes_per_s},
          {"refusals_per_second", load.refusals_per_s},
          {"in_flight", Optional(Whole(load.in_flight))},
          {"queue_depth", Optional(Whole(load.queue_depth))},
          {"workers_in_use", Optional(Whole(load.workers_in_use))},
          {"workers", Optional(Whole(load.workers))},
          {"methods", methods}};
}

}  // namespace warpfold::client
