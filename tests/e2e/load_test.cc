// A load (`warpfold bench`) by every path, and the stream that pipelines, against the real server.
#include "client/cpp/load/load.h"

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/many_stream.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

using client::LoadPath;
using client::ReduceOptions;
using client::TensorView;

class LoadTest : public ServedTest {
 protected:
  static void SetUpTestSuite() { StartServer({"--shared-memory-prefix=/warpfold-load-test-"}); }
  static std::string Target() { return "127.0.0.1:" + std::to_string(server().grpc_port()); }

  static std::unique_ptr<client::Client> Connect() {
    auto connected = client::Client::Connect(Target(), {});
    EXPECT_TRUE(connected.ok()) << connected.status();
    return *std::move(connected);
  }

  const std::vector<float> ones_ = std::vector<float>(25'000, 1.0F);
  const std::span<const std::byte> bytes_ = std::as_bytes(std::span(ones_));
};

TEST_F(LoadTest, EveryPathServesWhatWasAskedFor) {
  for (const LoadPath path :
       {LoadPath::kUnary, LoadPath::kStream, LoadPath::kStriped, LoadPath::kMany, LoadPath::kInfer,
        LoadPath::kResident, LoadPath::kShared}) {
    const bool says_how = path != LoadPath::kInfer;  // that protocol has no words for it
    for (const double rate : {0.0, 1e6}) {
      client::LoadOptions options;
      options.target = Target();
      options.path = path;
      options.rate = rate;
      options.clients = 2;
      options.window = 5;
      options.stripe_bytes_min = 10'000;
      options.warmup = options.duration = std::chrono::duration<double>(0);
      options.requests_min = 50;
      client::LoadCounters counters;
      const auto report = client::RunLoad(options, bytes_, counters);
      ASSERT_TRUE(report.ok()) << static_cast<int>(path) << ": " << report.status();
      EXPECT_EQ(report->latencies.count(), 100);
      EXPECT_TRUE(report->failures.empty());
      EXPECT_EQ(report->device.empty(), !says_how);
      EXPECT_EQ(report->server.total.count(), 100);
      EXPECT_EQ(report->server.total.Percentile(0).count() > 0, says_how);
      EXPECT_LE(report->server.total.Percentile(0), report->latencies.max());
    }
  }
}

TEST_F(LoadTest, TheInferenceProtocolTakesEveryDTypeAndSeveralOps) {
  client::LoadOptions options;
  options.target = Target();
  options.path = LoadPath::kInfer;
  options.warmup = options.duration = std::chrono::duration<double>(0);
  client::LoadCounters counters;
  for (int d = v1::DTYPE_BOOL; d <= v1::DTYPE_F64; ++d) {
    options.dtype = static_cast<v1::DType>(d);
    for (const auto& ops : {std::vector{v1::OP_MAX}, std::vector{v1::OP_MIN, v1::OP_MEAN}}) {
      options.ops = ops;
      const auto report = client::RunLoad(options, std::vector<std::byte>(4000), counters);
      ASSERT_TRUE(report.ok()) << client::Name(options.dtype) << ": " << report.status();
      EXPECT_TRUE(report->failures.empty()) << client::Name(options.dtype);
    }
  }
  options.ops = {v1::OP_SUM, v1::OP_PROD};  // `describe` has no PROD
  const auto refused = client::RunLoad(options, bytes_, counters);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
}

TEST_F(LoadTest, AnswersOfAPipelinedStreamAreThoseOfTheirRequests) {
  const auto client = Connect();
  const auto stream = client->OpenMany({});
  for (std::int64_t count = 1; count <= 200; ++count) {
    const TensorView view{
        v1::DTYPE_F32, {count}, bytes_.first(4 * static_cast<std::size_t>(count))};
    ReduceOptions options{.ops = {v1::OP_SUM}, .request_id = std::to_string(count)};
    if (count % 50 == 0) options.axes = {9};
    ASSERT_TRUE(stream->Send(view, options).ok());
  }
  EXPECT_EQ(stream->Send({v1::DTYPE_F32, {3}, {}}, {.ops = {v1::OP_SUM}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(stream->Close().ok());
  std::map<std::string, absl::StatusOr<client::ReduceAnswer>> answers;
  const auto forever = std::chrono::system_clock::time_point::max();
  for (auto got = stream->Receive(forever); got.ok(); got = stream->Receive(forever)) {
    answers.emplace((*got)->request_id, (*got)->answer);
  }
  ASSERT_EQ(answers.size(), 200U);
  for (int count = 1; count <= 200; ++count) {
    const auto& answer = answers.at(std::to_string(count));
    if (count % 50 == 0) {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(answer.ok()) << answer.status();
    float sum = 0;
    std::memcpy(&sum, answer->results[0].tensor.data.data(), sizeof(sum));
    EXPECT_EQ(sum, static_cast<float>(count));
  }
}

TEST_F(LoadTest, AStreamThatIsLeftOrStoppedHoldsNothing) {
  const auto client = Connect();
  const TensorView view{v1::DTYPE_F32, {25'000}, bytes_};
  {
    const auto stream = client->OpenMany({});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(stream->Send(view, {.ops = {v1::OP_SUM}}).ok());
  }
  std::stop_source stop;
  const auto stream = client->OpenMany({.stop = stop.get_token()});
  ASSERT_TRUE(stream->Send(view, {.ops = {v1::OP_SUM}}).ok());
  const auto past = std::chrono::system_clock::time_point();
  while (true) {
    const auto got = stream->Receive(past);
    ASSERT_TRUE(got.ok());
    if (got->has_value()) break;
  }
  EXPECT_FALSE(stream->Receive(past)->has_value()) << "nothing else was asked";
  stop.request_stop();
  EXPECT_EQ(stream->Receive(std::chrono::system_clock::time_point::max()).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(stream->Send(view, {.ops = {v1::OP_SUM}}).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace warpfold::e2e
