// `warpfold watch`: a server's load, read again and again from its metrics page.
#include <httplib.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/json_text.h"
#include "client/cpp/cli/load_report.h"
#include "client/cpp/cli/metrics_url.h"
#include "client/cpp/cli/prometheus_text.h"
#include "client/cpp/cli/server_load.h"

namespace warpfold::client {
namespace {

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kHttpOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
// Home; after each line what was there before goes; below the last line too.
constexpr char kHome[] = "\x1b[H";
constexpr char kClearToLineEnd[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

struct Reading {
  ServerCounters counters;
  steady_clock::time_point at;
};

// httplib's own are single words.
std::string ErrorText(httplib::Error error) {
  constexpr char kHint[] =
      "; was the server started with --metrics-address=none? --metrics names the page";
  switch (error) {
    case httplib::Error::Connection:
      return absl::StrCat("Connection refused, or no such host", kHint);
    case httplib::Error::ConnectionTimeout:
      return absl::StrCat("Connection timed out", kHint);
    case httplib::Error::SSLConnection:
      return "no TLS there, or it wants a certificate; --metrics=http://... names a page in the "
             "clear";
    case httplib::Error::SSLServerVerification:
      return "the page's certificate is not of this host, or of nobody in --tls-ca";
    case httplib::Error::Read:
      return "the answer could not be read, or took longer than --timeout";
    default:
      return httplib::to_string(error);
  }
}

// Shows the page what --server is shown: the token, and the certificates.
absl::StatusOr<std::unique_ptr<httplib::Client>> ClientOf(const Url& url,
                                                          const ServerFlags& flags) {
  const absl::StatusOr<ConnectionOptions> options = ConnectionOptionsOf(flags);
  if (!options.ok()) return options.status();
  auto http = std::make_unique<httplib::Client>(url.origin, flags.tls_cert, flags.tls_key);
  if (!flags.tls_ca.empty()) http->set_ca_cert_path(flags.tls_ca);
  if (!options->token.empty()) http->set_bearer_token_auth(options->token);
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(Seconds(flags.timeout_s));
  http->set_connection_timeout(timeout);
  http->set_read_timeout(timeout);
  http->set_keep_alive(true);
  return http;
}

absl::StatusOr<Reading> Read(httplib::Client& http, const Url& url) {
  const httplib::Result answer = http.Get(url.path);
  const steady_clock::time_point at = steady_clock::now();
  if (!answer) {
    return absl::UnavailableError(absl::StrCat(url.text(), ": ", ErrorText(answer.error())));
  }
  if (answer->status != kHttpOk) {
    // 401 and 403 say in a line what is missing.
    std::string why = answer->body.substr(0, answer->body.find('\n'));
    if (answer->status != kUnauthorized && answer->status != kForbidden) why.clear();
    const std::string text = absl::StrCat(url.text(), ": HTTP status ", answer->status,
                                          why.empty() ? "" : ": ", Printable(why));
    return answer->status == kUnauthorized ? absl::UnauthenticatedError(text)
                                           : absl::UnavailableError(text);
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
  const absl::StatusOr<Url> url = MetricsUrl(flags.metrics, server.server, server.uses_tls());
  if (!url.ok()) return url.status();
  const absl::StatusOr<std::unique_ptr<httplib::Client>> http = ClientOf(*url, server);
  if (!http.ok()) return http.status();

  const bool screen = isatty(STDOUT_FILENO) == 1 && !server.json;
  const auto interval =
      std::chrono::duration_cast<steady_clock::duration>(Seconds(flags.interval_s));
  absl::StatusOr<Reading> before = Read(**http, *url);
  if (!before.ok()) return before.status();
  // A port by default may be another server's.
  if (!server.json && !screen) std::cout << Printable(url->text()) << "\n" << std::flush;
  for (std::int64_t shown = 0; flags.count == 0 || shown < flags.count; ++shown) {
    std::this_thread::sleep_until(before->at + interval);
    absl::StatusOr<Reading> after = Read(**http, *url);
    if (!after.ok()) return after.status();
    const ServerLoad load = LoadBetween(before->counters, after->counters, after->at - before->at);
    const std::string time =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
    if (server.json) {
      std::cout << JsonText(LoadJson(time, load), /*indent=*/-1) << "\n";
    } else if (screen) {
      std::cout << Painted(LoadScreen(absl::StrCat(url->text(), "  ", time), load));
    } else {
      std::cout << LoadLine(time, load);
    }
    // Whoever reads this reads it now; and where nothing can be written the watch ends.
    if (!std::cout.flush()) return absl::OkStatus();
    before = std::move(after);
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
