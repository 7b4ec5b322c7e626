// From a metrics page to what `warpfold watch` shows: parsing, rates, quantiles, texts.
#include "client/cpp/cli/server_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "client/cpp/cli/load_report.h"
#include "client/cpp/cli/prometheus_text.h"

namespace warpfold::client {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(PrometheusTextTest, SamplesAreReadWithTheirLabels) {
  const auto samples = ParsePrometheusText(
      "# HELP a what\n"
      "# TYPE a counter\n"
      "\n"
      "\r\n"
      "a 3\n"
      "b{x=\"1\",y=\"quote \\\" slash \\\\ line \\n end\"} 1.5e3 1700000000000\r\n"
      "c:d_e{le=\"+Inf\",} +Inf\n"
      "f { g = \"{,}\" } NaN");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 4u);
  EXPECT_EQ((*samples)[0].name, "a");
  EXPECT_EQ((*samples)[0].value, 3);
  EXPECT_EQ((*samples)[0].label("x"), "");
  EXPECT_EQ((*samples)[1].label("y"), "quote \" slash \\ line \n end");
  EXPECT_EQ((*samples)[1].value, 1500);
  EXPECT_EQ((*samples)[2].name, "c:d_e");
  EXPECT_EQ((*samples)[2].value, kInf);
  EXPECT_EQ((*samples)[3].label("g"), "{,}");
  EXPECT_TRUE(std::isnan((*samples)[3].value));
}

TEST(PrometheusTextTest, WhatIsNotTheFormatIsRefusedByLine) {
  for (const char* line : {"<html>", "a", "a{x=1} 2", "a{x=\"1} 2", "a{x=\"1\"",
                           "a{x=\"1\" y=\"2\"} 1", "a x", "a{x=\"\\"}) {
    const auto samples = ParsePrometheusText(std::string("ok 1\n") + line);
    ASSERT_FALSE(samples.ok()) << line;
    EXPECT_THAT(std::string(samples.status().message()), HasSubstr("line 2 is no Prometheus text"));
  }
}

// 10 observations up to 1, 20 up to 2, 30 up to 4, 40 in all.
const Buckets kBuckets = {{1, 10}, {2, 20}, {4, 30}, {kInf, 40}};

TEST(HistogramQuantileTest, IsLinearWithinABucketAsInPromQl) {
  EXPECT_EQ(HistogramQuantile(kBuckets, 0.25), 1);
  EXPECT_EQ(HistogramQuantile(kBuckets, 0.125), 0.5);
  EXPECT_EQ(HistogramQuantile(kBuckets, 0.5), 2);
  EXPECT_EQ(HistogramQuantile(kBuckets, 0.625), 3);
}

TEST(HistogramQuantileTest, AboveTheLastBoundItIsThatBound) {
  EXPECT_EQ(HistogramQuantile(kBuckets, 0.99), 4);
}

TEST(HistogramQuantileTest, NothingHasNone) {
  EXPECT_EQ(HistogramQuantile({}, 0.5), std::nullopt);
  EXPECT_EQ(HistogramQuantile({{1, 0}, {kInf, 0}}, 0.5), std::nullopt);
  EXPECT_EQ(HistogramQuantile({{1, 0}, {2, 5}, {kInf, 5}}, 0.0), 1);  // empty buckets are skipped
}

// A page with so many Reduce requests, a quarter of them errors, and so many bytes.
ServerCounters Counters(int requests, double bytes) {
  std::ostringstream page;
  page << "warpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"0.001\"} "
       << requests / 2
       << "\nwarpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"0.01\"} " << requests
       << "\nwarpfold_request_duration_seconds_bucket{method=\"Reduce\",le=\"+Inf\"} " << requests
       << "\nwarpfold_request_duration_seconds_bucket{method=\"ReduceMany\",le=\"+Inf\"} 0"
       << "\nwarpfold_requests_total{method=\"Reduce\",code=\"OK\",op=\"sum\"} " << requests * 3 / 4
       << "\nwarpfold_requests_total{method=\"Reduce\",code=\"Internal\",op=\"sum\"} "
       << requests / 8 << "\nwarpfold_requests_total{method=\"Reduce\",code=\"OutOfRange\"} "
       << requests / 8 << "\nwarpfold_payload_bytes_total{dtype=\"f32\"} " << bytes / 2
       << "\nwarpfold_payload_bytes_total{dtype=\"i64\"} " << bytes / 2
       << "\nwarpfold_admission_refusals_total{reason=\"queue\"} " << requests / 100
       << "\nwarpfold_requests_in_flight 4\nwarpfold_queue_depth 2"
       << "\nwarpfold_workers{state=\"in_use\"} 3\nwarpfold_workers{state=\"total\"} 8\n";
  return *CountersOf(*ParsePrometheusText(page.str()));
}

TEST(ServerLoadTest, CountersReadTwiceAreRates) {
  const ServerLoad load = LoadBetween(Counters(800, 2e9), Counters(1600, 6e9), seconds(2));
  const ServerLoad::Method& reduce = load.methods.at("Reduce");
  EXPECT_EQ(reduce.requests_per_s, 400);
  EXPECT_EQ(reduce.errors_per_s, 100);
  EXPECT_EQ(reduce.p50_s, 0.001);
  EXPECT_DOUBLE_EQ(*reduce.p99_s, 0.001 + 0.009 * 0.98);
  EXPECT_EQ(load.methods.at("ReduceMany").requests_per_s, 0);
  EXPECT_EQ(load.methods.at("ReduceMany").p99_s, std::nullopt);
  EXPECT_EQ(load.bytes_per_s, 2e9);
  EXPECT_EQ(load.refusals_per_s, 4);
  EXPECT_EQ(load.in_flight, 4);
  EXPECT_EQ(load.queue_depth, 2);
  EXPECT_EQ(load.workers_in_use, 3);
  EXPECT_EQ(load.workers, 8);
}

TEST(ServerLoadTest, ARestartedServerCountsFromZero) {
  const ServerLoad load = LoadBetween(Counters(8000, 9e9), Counters(800, 1e9), seconds(1));
  EXPECT_EQ(load.methods.at("Reduce").requests_per_s, 800);
  EXPECT_EQ(load.methods.at("Reduce").errors_per_s, 200);
  EXPECT_EQ(load.methods.at("Reduce").p50_s, 0.001);
  EXPECT_EQ(load.bytes_per_s, 1e9);
}

TEST(ServerLoadTest, AnotherProgramsMetricsAreRefused) {
  const auto counters = CountersOf(*ParsePrometheusText("up 1\n"));
  EXPECT_TRUE(absl::IsFailedPrecondition(counters.status()));
}

// docs/metrics.md is compared with what the server serves by a test of the server.
TEST(ServerLoadTest, WhatIsReadIsDocumented) {
  std::ostringstream page;
  page << std::ifstream(WARPFOLD_METRICS_PAGE).rdbuf();
  for (const char* name : kMetricsRead) {
    EXPECT_THAT(page.str(), HasSubstr("| `" + std::string(name) + "` |"));
  }
}

TEST(LoadReportTest, DurationsHaveThreeDigits) {
  EXPECT_EQ(DurationText(0.0), "0.00 us");
  EXPECT_EQ(DurationText(4.125e-6), "4.12 us");
  EXPECT_EQ(DurationText(412e-6), "412 us");
  EXPECT_EQ(DurationText(999.7e-6), "1.00 ms");
  EXPECT_EQ(DurationText(0.03), "30.0 ms");
  EXPECT_EQ(DurationText(2.0), "2.00 s");
  EXPECT_EQ(DurationText(std::nullopt), "-");
}

TEST(LoadReportTest, TheScreenHasATableAndALine) {
  const ServerLoad load = LoadBetween(Counters(800, 2e9), Counters(1600, 6e9), seconds(2));
  EXPECT_EQ(LoadScreen("title", load),
            "title\n"
            "\n"
            "METHOD      REQUESTS/S  ERRORS/S      P50      P99\n"
            "Reduce           400.0     100.0  1.00 ms  9.82 ms\n"
            "ReduceMany         0.0       0.0        -        -\n"
            "\n"
            "2.00 GB/s  in flight 4  queue 2  workers 3 of 8  refused 4.0/s\n");
}

TEST(LoadReportTest, TheLineLeavesIdleMethodsOut) {
  const ServerLoad load = LoadBetween(Counters(800, 2e9), Counters(1600, 6e9), seconds(2));
  EXPECT_EQ(LoadLine("now", load),
            "now  2.00 GB/s  in flight 4  queue 2  workers 3 of 8  refused 4.0/s  "
            "Reduce 400.0/s, 100.0 errors/s, p50 1.00 ms, p99 9.82 ms\n");
}

TEST(LoadReportTest, JsonHasNullForWhatIsNotThere) {
  const auto json = LoadJson("now", LoadBetween({}, Counters(0, 0), seconds(1)));
  EXPECT_EQ(json["methods"]["Reduce"]["requests_per_second"], 0);
  EXPECT_TRUE(json["methods"]["Reduce"]["p50_seconds"].is_null());
  EXPECT_EQ(json["workers"].dump(), "8");
  EXPECT_TRUE(LoadJson("now", ServerLoad())["queue_depth"].is_null());
}

TEST(LoadReportTest, AGaugeThatIsNoCountIsNotThere) {
  for (const double value : {std::nan(""), kInf, -kInf, 1e300}) {
    ServerLoad load;
    load.workers = value;
    EXPECT_TRUE(LoadJson("now", load)["workers"].is_null()) << value;
    EXPECT_THAT(LoadLine("now", load), HasSubstr("workers - of -")) << value;
  }
}

}  // namespace
}  // namespace warpfold::client
