// `warpfold watch`: a server's load, read again and again from its metrics page.
#include <httplib.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/load_report.h"
#include "client/cpp/cli/prometheus_text.h"
#include "client/cpp/cli/server_load.h"

namespace warpfold::client {
namespace {

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr char kDefaultMetricsPort[] = "9464";
constexpr int kHttpOk = 200;
// Home; after each line what was there before goes; below the last line too.
constexpr char kHome[] = "\x1b[H";
constexpr char kClearToLineEnd[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

struct Url {
  std::string origin;  // "http://host:port"
  std::string path;
  std::string text() const { return origin + path; }
};

absl::StatusOr<Url> ParseUrl(const std::string& text) {
  const std::size_t host = text.find("://");
  const std::string scheme = host == std::string::npos ? "" : text.substr(0, host);
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: '", text, "' is not http://host:port/metrics"));
  }
  const std::size_t path = std::min(text.find('/', host + 3), text.size());
  if (path == host + 3) {
    return absl::InvalidArgumentError(absl::StrCat("--metrics: '", text, "' has no host"));
  }
  return Url{text.substr(0, path), path == text.size() ? "/metrics" : text.substr(path)};
}

// Where the metrics of `server` are unless the user says otherwise: its host, the usual port.
absl::StatusOr<Url> MetricsUrl(const std::string& metrics, const std::string& server) {
  if (!metrics.empty()) return ParseUrl(metrics);
  if (server.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: is needed, --server ", server, " names no host"));
  }
  return ParseUrl(absl::StrCat("http://", server.substr(0, server.rfind(':')), ":",
                               kDefaultMetricsPort, "/metrics"));
}

struct Reading {
  ServerCounters counters;
  steady_clock::time_point at;
};

absl::StatusOr<Reading> Read(httplib::Client& http, const Url& url) {
  const httplib::Result answer = http.Get(url.path);
  const steady_clock::time_point at = steady_clock::now();
  if (!answer) {
    return absl::UnavailableError(
        absl::StrCat(url.text(), ": ", httplib::to_string(answer.error())));
  }
  if (answer->status != kHttpOk) {
    return absl::UnavailableError(absl::StrCat(url.text(), ": HTTP status ", answer->status));
  }
  const absl::StatusOr<std::vector<Sample>> samples = ParsePrometheusText(answer->body);
  if (!samples.ok()) return InFile(url.text(), samples.status());
  absl::StatusOr<ServerCounters> counters = CountersOf(*samples);
  if (!counters.ok()) return InFile(url.text(), counters.status());
  return Reading{*std::move(counters), at};
}

// Paints over what the last screen left.
std::string Painted(const std::string& screen) {
  std::string text = kHome;
  for (const char c : screen) {
    if (c == '\n') text += kClearToLineEnd;
    text += c;
  }
  return text + kClearBelow;
}

}  // namespace

absl::Status RunWatch(const ServerFlags& server, const WatchFlags& flags) {
  const absl::StatusOr<Url> url = MetricsUrl(flags.metrics, server.server);
  if (!url.ok()) return url.status();
  httplib::Client http(url->origin);
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(Seconds(server.timeout_s));
  http.set_connection_timeout(timeout);
  http.set_read_timeout(timeout);
  http.set_keep_alive(true);

  const bool screen = isatty(STDOUT_FILENO) == 1 && !server.json;
  const auto interval =
      std::chrono::duration_cast<steady_clock::duration>(Seconds(flags.interval_s));
  absl::StatusOr<Reading> before = Read(http, *url);
  if (!before.ok()) return before.status();
  for (std::int64_t shown = 0; flags.count == 0 || shown < flags.count; ++shown) {
    std::this_thread::sleep_until(before->at + interval);
    absl::StatusOr<Reading> after = Read(http, *url);
    if (!after.ok()) return after.status();
    const ServerLoad load = LoadBetween(before->counters, after->counters, after->at - before->at);
    const std::string time =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
    if (server.json) {
      std::cout << LoadJson(time, load).dump() << "\n";
    } else if (screen) {
      std::cout << Painted(LoadScreen(absl::StrCat(url->text(), "  ", time), load));
    } else {
      std::cout << LoadLine(time, load);
    }
    // Whoever reads this reads it now; and a reader that is gone ends the watch.
    if (!std::cout.flush()) return absl::OkStatus();
    before = std::move(after);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
