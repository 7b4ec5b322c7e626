// Tensors in stripes over several connections give the bits of one call, whatever is reduced.
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/tensor_fixture.h"

namespace warpfold::e2e {
namespace {

using client::ClientOptions;
using client::ReduceOptions;
using client::TensorView;

constexpr char kMerges[] =
    "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Merge\",grpc_service=\"warpfold."
    "v1.ReductionService\",grpc_type=\"unary\"}";

class StripesTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() { StartServer({"--max-resident-bytes=16MiB"}); }
  void SetUp() override {
    TensorFixture::SetUp();
    ClientOptions options;
    options.connections = 1;
    whole_ = Connect(options);
    options.connections = 3;
    options.stripe_threshold_bytes = 0;
    options.stripe_bytes_min = 5000;
    options.stream_threshold_bytes = 20'000;  // some stripes by one method, some by the other
    options.chunk_bytes = 8192;
    striped_ = Connect(options);
    std::mt19937_64 random(20261121);
    for (float& x : elements_) {  // adds up to other bits in another order
      x = std::ldexp(static_cast<float>(random() % 100'000) - 5e4F,
                     static_cast<int>(random() % 30) - 15);
    }
  }

  static std::unique_ptr<client::Client> Connect(const ClientOptions& options) {
    auto connected =
        client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), options);
    EXPECT_TRUE(connected.ok()) << connected.status();
    return *std::move(connected);
  }

  TensorView View(const std::vector<std::int64_t>& shape) {
    std::size_t count = 1;
    for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
    return {v1::DTYPE_F32, shape, std::as_bytes(std::span(elements_).first(count))};
  }

  std::vector<float> elements_ = std::vector<float>(300'000);
  std::unique_ptr<client::Client> whole_;
  std::unique_ptr<client::Client> striped_;
};

TEST_F(StripesTest, StripesHaveTheBitsOfOneCall) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {300'000},   {262'144},     {1, 299, 1, 1003}, {3000, 100},
      {100, 3000}, {60, 5, 1000}, {7, 40'000}};
  int compared = 0;
  for (const auto& shape : shapes) {
    for (std::uint32_t mask = 0; mask < 1U << shape.size(); ++mask) {
      ReduceOptions options{.ops = {v1::OP_SUM, v1::OP_STD, v1::OP_ARGMAX, v1::OP_L2_NORM},
                            .keepdims = mask % 2 == 1};
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if ((mask >> d & 1) != 0) options.axes.push_back(static_cast<std::int64_t>(d));
      }
      const std::string what =
          client::ShapeText(shape) + " axes " + client::ShapeText(options.axes);
      const auto expected = whole_->Reduce(View(shape), options);
      const auto got = striped_->Reduce(View(shape), options);
      ASSERT_EQ(got.status(), expected.status()) << what;
      if (!expected.ok()) continue;  // ARGMAX over several axes that are not all
      ++compared;
      ASSERT_EQ(got->results.size(), expected->results.size());
      for (std::size_t i = 0; i < got->results.size(); ++i) {
        EXPECT_EQ(got->results[i].op, expected->results[i].op) << what;
        EXPECT_EQ(got->results[i].tensor.shape, expected->results[i].tensor.shape) << what;
        EXPECT_TRUE(got->results[i].tensor.data == expected->results[i].tensor.data)
            << what << " " << client::Name(got->results[i].op);
      }
      EXPECT_EQ(got->device, expected->device);
    }
  }
  EXPECT_GE(compared, 20);
}

TEST_F(StripesTest, StripesAreMergedByOneCallAndProgressReachesTheWhole) {
  const double merges = MetricValue(MetricsPage(server().metrics_port()), kMerges);
  std::int64_t sent_bytes = 0;
  const auto answer = striped_->Reduce(
      View({300'000}),
      {.ops = {v1::OP_SUM}, .progress = [&](std::int64_t sent) { sent_bytes = sent; }});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(sent_bytes, 1'200'000);
  EXPECT_EQ(answer->attempts, 1);
  EXPECT_GT(answer->timing.total_ns(), 0);
  EXPECT_EQ(AwaitMetric(server().metrics_port(), kMerges, merges + 1), merges + 1);
}

TEST_F(StripesTest, AStopRequestEndsAllStripes) {
  std::stop_source stop;
  const auto answer =
      striped_->Reduce(View({300'000}), {.ops = {v1::OP_SUM},
                                         .progress = [&](std::int64_t) { stop.request_stop(); },
                                         .stop = stop.get_token()});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled) << answer.status();
}

TEST_F(StripesTest, AnUploadOverSeveralConnectionsIsTheSameTensor) {
  std::int64_t sent_bytes = 0;
  auto tensor =
      striped_->Put(View({300'000}), {.progress = [&](std::int64_t sent) { sent_bytes = sent; }});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(sent_bytes, 1'200'000);
  const ReduceOptions sum{.ops = {v1::OP_SUM}};
  const auto expected = whole_->Reduce(View({300'000}), sum);
  const auto got = striped_->Reduce(*tensor, sum);
  ASSERT_TRUE(expected.ok() && got.ok()) << got.status();
  EXPECT_TRUE(got->results[0].tensor.data == expected->results[0].tensor.data);
}

}  // namespace
}  // namespace warpfold::e2e
