// `warpfold watch` against a metrics page that counts its readers.
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"
#include "tests/e2e/certificates.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// Each reading finds 100 more requests, all of them between 1 and 3 ms.
class WatchCliTest : public CliTest {
 protected:
  WatchCliTest() {
    http_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      const int reading = readings_++;
      const std::string count = std::to_string(100 * reading);
      response.set_content(
          "warpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"0.001\"} 0\n"
          "warpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"0.003\"} " +
              count + "\nwarpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"+Inf\"} " +
              count + "\nwarpfold_requests_in_flight " + std::to_string(reading) + "\n",
          "text/plain");
    });
    http_.Get("/odd", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(
          "warpfold_request_duration_seconds_bucket{method=\"\xff\",le=\"+Inf\"} 3\n"
          "warpfold_queue_depth NaN\n",
          "text/plain");
    });
    http_.Get("/guarded", [](const httplib::Request& request, httplib::Response& response) {
      response.status = 401;
      response.set_content("'" + request.get_header_value("Authorization") + "' is nobody's\nmore",
                           "text/plain");
    });
    http_.Get("/other", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("up 1\n", "text/plain");
    });
    http_.Get("/html", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("<html>", "text/html");
    });
    port_ = http_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { http_.listen_after_bind(); });
  }
  ~WatchCliTest() override {
    while (!http_.is_running()) std::this_thread::yield();  // stop() before that is lost
    http_.stop();
    thread_.join();
  }

  std::string Origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string Watch(const std::string& rest) const {
    return "watch --interval 0.02 --metrics " + Origin() + rest;
  }

  httplib::Server http_;
  std::atomic<int> readings_ = 0;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(WatchCliTest, EachIntervalIsALineUnderThePagesUrl) {
  const Outcome outcome = Run(Watch("/metrics --count 3"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(readings_, 4);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  const std::string heading = Origin() + "/metrics\n";
  ASSERT_THAT(outcome.out, testing::StartsWith(heading));
  const std::string lines = outcome.out.substr(heading.size());
  EXPECT_THAT(lines.substr(0, lines.find('\n')),
              MatchesRegex("20..-..-..T..:..:..Z  0.00 GB/s  in flight 1  queue -  .*"
                           "Reduce [0-9.]+/s, 0.0 errors/s, p50 2.00 ms, p99 2.98 ms"));
  EXPECT_THAT(outcome.out, HasSubstr("in flight 3"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(WatchCliTest, JsonIsAnObjectALineWithWhatHappenedBetween) {
  const Outcome outcome = Run(Watch("/metrics --json --count 2"));
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json load = json::parse(line);
    EXPECT_GE(load["seconds"].get<double>(), 0.02);
    const json& reduce = load["methods"]["Reduce"];
    EXPECT_NEAR(reduce["requests_per_second"].get<double>() * load["seconds"].get<double>(), 100,
                1e-6);
    EXPECT_EQ(reduce["p50_seconds"], 0.002);
    EXPECT_EQ(load["in_flight"], count + 1);
    EXPECT_TRUE(load["queue_depth"].is_null());
  }
  EXPECT_EQ(count, 2);
}

TEST_F(WatchCliTest, JsonIsWholeWhateverThePageHas) {
  const Outcome outcome = Run(Watch("/odd --json --count 1"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json load = json::parse(outcome.out);
  EXPECT_TRUE(load["methods"].contains("\uFFFD")) << outcome.out;
  EXPECT_TRUE(load["queue_depth"].is_null()) << outcome.out;
}

TEST_F(WatchCliTest, ATerminalGetsOneScreen) {
  const Outcome outcome = RunOnTerminal(Watch("/metrics --count 2"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[H" + Origin() + "/metrics  20"));
  EXPECT_THAT(outcome.out, HasSubstr("METHOD  REQUESTS/S  ERRORS/S      P50      P99\x1b[K"));
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[J"));
}

TEST_F(WatchCliTest, WithoutAPathItIsMetrics) { EXPECT_EQ(Run(Watch(" --count 1")).exit_code, 0); }

TEST_F(WatchCliTest, ThePageIsShownTheToken) {
  const std::string token = WriteFile("token", "token-of-the-monitor\n");
  ExpectFailure(Watch("/guarded --count 1"), 2,
                "/guarded: HTTP status 401: '' is nobody's; --token-file or WARPFOLD_TOKEN_FILE "
                "names the file of a token\n");
  ExpectFailure(Watch("/guarded --count 1 --token-file " + token), 2,
                "HTTP status 401: 'Bearer token-of-the-monitor' is nobody's; ");
  ExpectFailure(Watch("/guarded --count 1 --token-file /no/such/file"), 2,
                "--token-file: /no/such/file: cannot be read");
}

// A page that only who trusts its authority reads, and shows a certificate of it.
TEST_F(WatchCliTest, ThePageIsReadByTls) {
  const e2e::Authority authority;
  const e2e::KeyAndCertificate own = authority.Issue();
  const std::string certificate = WriteFile("cert.pem", own.certificate);
  const std::string key = WriteFile("key.pem", own.key);
  const std::string ca = WriteFile("ca.pem", authority.certificate());
  const std::string other = WriteFile("other.pem", e2e::Authority().certificate());
  httplib::SSLServer https(certificate.c_str(), key.c_str(), ca.c_str());
  https.Get("/metrics", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(
        "warpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"+Inf\"} 3\n",
        "text/plain");
  });
  const int port = https.bind_to_any_port("localhost");
  std::jthread thread([&https] { https.listen_after_bind(); });
  while (!https.is_running()) std::this_thread::yield();
  const std::string watch =
      absl::StrCat("watch --interval 0.02 --count 1 --metrics https://localhost:", port);
  const std::string ours = absl::StrCat(" --tls-cert ", certificate, " --tls-key ", key);
  const Outcome read = Run(absl::StrCat(watch, " --tls-ca ", ca, ours));
  EXPECT_EQ(read.exit_code, 0) << read.err;
  ExpectFailure(absl::StrCat(watch, " --tls-ca ", other, ours), 3,
                "the page's certificate is not of this host, or of nobody in --tls-ca");
  ExpectFailure(
      absl::StrCat("watch --count 1 --tls-ca ", ca, " --metrics https://localhost:", port_), 3,
      "no TLS there");
  https.stop();
}

TEST_F(WatchCliTest, TroubleHasItsExitCode) {
  ExpectFailure(Watch("/missing --count 1"), 3, Origin() + "/missing: HTTP status 404");
  ExpectFailure(Watch("/other --count 1"), 2, "/other: has no metrics of a warpfold server");
  ExpectFailure(Watch("/html --count 1"), 2, "/html: line 1 is no Prometheus text: '<html>'");
  ExpectFailure("watch --metrics ftp://x/ --count 1", 2, "--metrics: 'ftp://x/' is not http://");
  ExpectFailure("watch --metrics http:///m --count 1", 2, "has no host");
  ExpectFailure("watch --interval 0 --count 1", 2, "--interval");
  ExpectFailure("watch --server dns:///a:1 --count 1", 2, "--metrics: is needed");
  ExpectFailure("watch --server ipv4:127.0.0.1:1,127.0.0.2:1 --count 1", 2, "--metrics: is needed");
  // Port 1 is nobody's.
  ExpectFailure(
      "watch --metrics http://127.0.0.1:1 --count 1", 3,
      "warpfold: http://127.0.0.1:1/metrics: Connection refused, or no such host; was the "
      "server started with --metrics-address=none? --metrics names the page\n");
}

}  // namespace
}  // namespace warpfold::client
