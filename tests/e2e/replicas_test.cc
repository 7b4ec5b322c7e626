// Replicas behind one name with the C++ client, which takes turns among them and tries again: what
// a client sees when one of them goes and comes back.
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr char kServed[] =
    "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"Reduce\",op=\"sum\"}";
constexpr char kStreamed[] =
    "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"ReduceStream\",op=\"sum\"}";

std::string Address(int port) { return "127.0.0.1:" + std::to_string(port); }

enum class Way { kUnary, kStream, kStripes };

// Threads that ask `target` over and over until Stop, by every way; each failure is one of the
// test's.
class Load {
 public:
  Load(const std::string& target, int attempts_max) {
    for (const Way way : {Way::kUnary, Way::kStream, Way::kStripes}) {
      client::ClientOptions options;
      options.stream_threshold_bytes = way == Way::kStream ? 0 : 1 << 30;
      options.stripe_threshold_bytes = way == Way::kStripes ? 0 : 1 << 30;
      options.stripe_bytes_min = 8192;
      options.chunk_bytes = 10'000;
      options.retry.attempts_max = attempts_max;
      auto connected = client::Client::Connect(target, options);
      EXPECT_TRUE(connected.ok()) << connected.status();
      if (!connected.ok()) return;
      clients_.push_back(*std::move(connected));
    }
    for (int t = 0; t < 6; ++t) {
      threads_.emplace_back(
          [this, t](const std::stop_token& stop) { Run(*clients_[t % clients_.size()], stop); });
    }
  }
  void Stop() { threads_.clear(); }
  int answers() const { return answers_; }
  int tried_again() const { return tried_again_; }

 private:
  void Run(client::Client& client, const std::stop_token& stop) {
    const std::vector<float> ones(10'000, 1.0F);
    const client::TensorView view{v1::DTYPE_F32, {10'000}, std::as_bytes(std::span(ones))};
    while (!stop.stop_requested()) {
      const auto answer = client.Reduce(view, {.ops = {v1::OP_SUM}});
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (!answer.ok()) return;
      ++answers_;
      if (answer->attempts > 1) ++tried_again_;
    }
  }

  std::vector<std::unique_ptr<client::Client>> clients_;
  std::atomic<int> answers_ = 0;
  std::atomic<int> tried_again_ = 0;
  std::vector<std::jthread> threads_;
};

// Waits until `server` has served `count` more requests of each kind.
void AwaitServed(const ServerProcess& server, double count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto served = [&](const char* series) {
    return MetricValue(MetricsPage(server.metrics_port()), series);
  };
  for (const char* series : {kServed, kStreamed}) {
    const double before = served(series);
    while (served(series) < before + count) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "no load at " << server.grpc_port();
    }
  }
}

class ReplicasTest : public testing::TestWithParam<int> {};

TEST_P(ReplicasTest, NoRequestFailsWhenOneGoesAndLoadReturnsWithIt) {
  std::vector<std::unique_ptr<ServerProcess>> servers;
  std::string target = "ipv4:";
  for (int i = 0; i < 3; ++i) {
    servers.push_back(ServerProcess::Start());
    ASSERT_NE(servers.back(), nullptr);
    target += (i == 0 ? "" : ",") + Address(servers.back()->grpc_port());
  }
  Load load(target, client::RetryPolicy().attempts_max);
  for (const auto& server : servers) AwaitServed(*server, 20);

  const int port = servers[1]->grpc_port();
  servers[1]->Signal(GetParam());
  EXPECT_EQ(servers[1]->Wait(), GetParam() == SIGTERM ? 0 : -SIGKILL);
  AwaitServed(*servers[0], 50);
  AwaitServed(*servers[2], 50);

  servers[1] = ServerProcess::Start({"--listen-address=" + Address(port)});
  ASSERT_NE(servers[1], nullptr);
  for (const auto& server : servers) AwaitServed(*server, 20);
  load.Stop();
  EXPECT_GT(load.answers(), 200);
}

INSTANTIATE_TEST_SUITE_P(Signals, ReplicasTest, testing::Values(SIGKILL, SIGTERM),
                         [](const auto& info) { return info.param == SIGKILL ? "KILL" : "TERM"; });

TEST(RestartTest, ARetryingClientOutlivesAKillAndARestart) {
  auto server = ServerProcess::Start();
  ASSERT_NE(server, nullptr);
  const int port = server->grpc_port();
  Load load(Address(port), /*attempts_max=*/1000);
  AwaitServed(*server, 20);
  server->Signal(SIGKILL);
  EXPECT_EQ(server->Wait(), -SIGKILL);
  server = ServerProcess::Start({"--listen-address=" + Address(port)});
  ASSERT_NE(server, nullptr);
  AwaitServed(*server, 20);
  load.Stop();
  EXPECT_GT(load.tried_again(), 0);
}

TEST(RestartTest, AClientConnectsAgainWhileItWaitsToTryAgain) {
  client::ClientOptions options;
  options.retry = {.attempts_max = 40,
                   .backoff_first = std::chrono::milliseconds(100),
                   .backoff_max = std::chrono::milliseconds(100)};
  auto server = ServerProcess::Start();
  ASSERT_NE(server, nullptr);
  const int port = server->grpc_port();
  auto client = client::Client::Connect(Address(port), options);
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<float> ones(16, 1.0F);
  const client::TensorView view{v1::DTYPE_F32, {16}, std::as_bytes(std::span(ones))};
  ASSERT_TRUE((*client)->Reduce(view, {.ops = {v1::OP_SUM}}).ok());

  server->Signal(SIGKILL);
  EXPECT_EQ(server->Wait(), -SIGKILL);
  const auto timeout = std::chrono::milliseconds(200);
  EXPECT_FALSE((*client)->Reduce(view, {.ops = {v1::OP_SUM}, .timeout = timeout}).ok());

  server = ServerProcess::Start({"--listen-address=" + Address(port)});
  ASSERT_NE(server, nullptr);
  const auto back = (*client)->Reduce(view, {.ops = {v1::OP_SUM}});
  EXPECT_TRUE(back.ok()) << back.status();
}

}  // namespace
}  // namespace warpfold::e2e
