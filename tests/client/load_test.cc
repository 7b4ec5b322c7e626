// The load generator: its histogram against sorted latencies, its payload, and its loops against
// the fake service.
#include "client/cpp/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "client/cpp/load/latency_histogram.h"
#include "client/cpp/load/payload.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyHistogramTest, PercentilesAreThoseOfTheSortedLatenciesWithinTheError) {
  std::mt19937_64 random(20261121);
  for (const int count : {1, 2, 10, 1000, 50'000}) {
    std::vector<std::int64_t> latencies(static_cast<std::size_t>(count));
    LatencyHistogram even;
    LatencyHistogram odd;
    for (std::size_t i = 0; i < latencies.size(); ++i) {
      latencies[i] = static_cast<std::int64_t>(random() >> (20 + random() % 44));  // up to 2^44
      (i % 2 == 0 ? even : odd).Record(nanoseconds(latencies[i]));
    }
    even.Add(odd);
    std::sort(latencies.begin(), latencies.end());
    EXPECT_EQ(even.count(), count);
    EXPECT_EQ(even.max().count(), latencies.back());
    for (const double percent : {0.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * count));
      const auto exact = static_cast<double>(latencies[std::max<std::size_t>(rank, 1) - 1]);
      const auto got = static_cast<double>(even.Percentile(percent).count());
      EXPECT_GE(got, exact) << count << " " << percent;
      EXPECT_LE(got, exact * (1 + LatencyHistogram::kErrorMax)) << count << " " << percent;
    }
  }
}

TEST(LatencyHistogramTest, NothingRecordedIsZeroAndNegativeCountsAsZero) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(50), nanoseconds(0));
  EXPECT_EQ(histogram.mean(), nanoseconds(0));
  histogram.Record(nanoseconds(-5));
  histogram.Record(nanoseconds(10));
  EXPECT_EQ(histogram.Percentile(0), nanoseconds(0));
  EXPECT_EQ(histogram.mean(), nanoseconds(5));
}

TEST(PayloadTest, EveryDTypeHasElementsThatAddUp) {
  for (int d = v1::DTYPE_BOOL; d <= v1::DTYPE_F64; ++d) {
    const auto dtype = static_cast<DType>(d);
    const std::size_t bytes = 1000 * ElementBytes(dtype);
    const auto payload = UniquePayload::Make(dtype, bytes);
    ASSERT_TRUE(payload.ok()) << payload.status();
    ASSERT_EQ(payload->bytes().size(), bytes);
    EXPECT_TRUE(std::any_of(payload->bytes().begin(), payload->bytes().end(), [](std::byte byte) {
      return byte != std::byte{0};
    })) << Name(dtype);
  }
  const auto floats = UniquePayload::Make(v1::DTYPE_F32, 4000);
  for (std::size_t i = 0; i < 4000; i += sizeof(float)) {
    float value = -1;
    std::memcpy(&value, floats->bytes().data() + i, sizeof(value));
    EXPECT_TRUE(value >= 0 && value < 1) << value;
  }
}

TEST(PayloadTest, ALargeOneRepeatsItsBlock) {
  const std::size_t bytes = UniquePayload::kBlockBytes + 4096;
  const auto payload = UniquePayload::Make(v1::DTYPE_F32, bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  const std::byte* data = payload->bytes().data();
  EXPECT_EQ(std::memcmp(data, data + UniquePayload::kBlockBytes, 4096), 0);
}

LoadOptions Requests(const FakeServer& server, LoadPath path, int clients, std::int64_t each) {
  LoadOptions options;
  options.target = server.address();
  options.path = path;
  options.clients = clients;
  options.warmup = options.duration = std::chrono::duration<double>(0);
  options.requests_min = each;
  return options;
}

const std::vector<std::byte> kZeros(4000);

TEST(LoadTest, AClosedLoopSendsWhatWasAskedForAfterOneToWarmUp) {
  FakeServer server;
  for (const LoadPath path : {LoadPath::kUnary, LoadPath::kStream}) {
    LoadCounters counters;
    const auto report = RunLoad(Requests(server, path, 3, 7), kZeros, counters);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->latencies.count(), 21);
    EXPECT_EQ(report->device, "fake");
    EXPECT_TRUE(report->failures.empty());
    EXPECT_EQ(counters.answered, 21);
    EXPECT_EQ(counters.failed, 0);
    // One client at a time: its latencies fit into the run.
    const auto alone = RunLoad(Requests(server, path, 1, 7), kZeros, counters);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_LE(alone->latencies.max(), alone->elapsed);
  }
  EXPECT_EQ(server.service().unary_calls(), 3 * 8 + 8);
  EXPECT_EQ(server.service().stream_calls(), 3 * 8 + 8);
}

TEST(LoadTest, AnOpenLoopCountsLatencyFromWhenARequestWasDue) {
  FakeServer server;
  LoadOptions options = Requests(server, LoadPath::kUnary, 1, 20);
  options.rate = 1e9;              // all of them are due at once
  server.service().HangAt(1 + 1);  // the first after the one to warm up
  LoadCounters counters;
  auto run = std::async(std::launch::async, [&] { return RunLoad(options, kZeros, counters); });
  while (server.service().unary_calls() < 2) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(UniquePayload::Make(v1::DTYPE_U8, 4 << 20).ok());  // takes some time
  const auto stalled = std::chrono::steady_clock::now() - start;
  server.service().Release();
  const auto report = run.get();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->latencies.count(), 20);
  EXPECT_GE(report->latencies.Percentile(0), stalled) << "all of them waited for the first";
}

TEST(LoadTest, FailuresAreCountedByCode) {
  FakeServer server;
  LoadCounters counters;
  server.service().FailNext(3, {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", 1, {}}, 1 + 5);
  const auto report = RunLoad(Requests(server, LoadPath::kUnary, 1, 20), kZeros, counters);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->failures,
              testing::ElementsAre(testing::Pair(absl::StatusCode::kResourceExhausted, 3)));
  EXPECT_EQ(report->latencies.count(), 17);
  EXPECT_EQ(counters.failed, 3);
}

TEST(LoadTest, AClientThatNobodyAnswersEndsTheRunBeforeItBegins) {
  FakeServer server;
  LoadCounters counters;
  server.service().FailNext(1, {grpc::StatusCode::INVALID_ARGUMENT, "planned", {}, {}});
  const auto report = RunLoad(Requests(server, LoadPath::kUnary, 2, 5), kZeros, counters);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server.service().unary_calls(), 2);
}

TEST(LoadTest, AClientThatFindsNobodyWaitsBetweenItsRequests) {
  FakeServer server;
  for (const int clients : {1, 2}) {
    LoadOptions options = Requests(server, LoadPath::kUnary, clients, 1);
    options.duration = std::chrono::milliseconds(500);
    server.service().FailNext(1'000'000, {grpc::StatusCode::UNAVAILABLE, "planned", {}, {}},
                              clients + 5);
    LoadCounters counters;
    const auto report = RunLoad(options, kZeros, counters);
    ASSERT_TRUE(report.ok()) << report.status();
    // After 10 + 20 + 40 + 80 + 160 + 200 ms of pauses the time is over.
    EXPECT_LE(counters.failed, 6 * clients);
    EXPECT_EQ(report->latencies.count(), 5);
    EXPECT_EQ(report->lost.code(), absl::StatusCode::kUnavailable) << report->lost;
  }
}

TEST(LoadTest, OneAnswerAtTheEndIsNoLoss) {
  FakeServer server;
  LoadCounters counters;
  server.service().FailNext(7, {grpc::StatusCode::UNAVAILABLE, "planned", {}, {}}, 1);
  const auto report = RunLoad(Requests(server, LoadPath::kUnary, 1, 8), kZeros, counters);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->latencies.count(), 1);
  EXPECT_TRUE(report->lost.ok()) << report->lost;
  // What the server refuses, with a delay or not, is no loss.
  for (const auto& refused :
       {FakeService::Failure{grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", 1, {}},
        FakeService::Failure{grpc::StatusCode::INTERNAL, "planned", {}, {}}}) {
    server.service().FailNext(1'000, refused, 2);
    const auto busy = RunLoad(Requests(server, LoadPath::kUnary, 1, 1'000), kZeros, counters);
    ASSERT_TRUE(busy.ok()) << busy.status();
    EXPECT_EQ(busy->latencies.count(), 1);
    EXPECT_TRUE(busy->lost.ok()) << busy->lost;
    server.service().FailNext(0, refused);
  }
}

TEST(LoadTest, NobodyThereIsUnavailable) {
  FakeServer server;
  LoadOptions options = Requests(server, LoadPath::kUnary, 2, 1);
  server.Stop();
  LoadCounters counters;
  EXPECT_EQ(RunLoad(options, kZeros, counters).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace warpfold::client
