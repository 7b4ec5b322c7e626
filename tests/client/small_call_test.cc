// Small calls to servers that hang, that are slow, and that take PINGs for abuse. A server hangs by
// SIGSTOP: its kernel goes on taking connections and bytes.
#include "client/cpp/small_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/call_with_retries.h"
#include "client/cpp/client.h"
#include "tests/client/fake_service.h"
#include "tests/contract/values_of.h"
#include "tests/e2e/served_test.h"
#include "tests/e2e/server_process.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::string AddressOf(const e2e::ServerProcess& server) {
  return "127.0.0.1:" + std::to_string(server.grpc_port());
}

class Replicas {
 public:
  explicit Replicas(int count) {
    for (int i = 0; i < count; ++i) {
      servers_.push_back(e2e::ServerProcess::Start());
      target_ += (i == 0 ? "ipv4:" : ",") + AddressOf(*servers_.back());
    }
  }

  // Returns once none of its threads runs.
  void Stop(int index) const {
    const e2e::ServerProcess& server = *servers_[static_cast<std::size_t>(index)];
    server.Signal(SIGSTOP);
    siginfo_t stopped = {};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(server.pid()), &stopped, WSTOPPED), 0);
  }
  void Continue(int index) const { servers_[static_cast<std::size_t>(index)]->Signal(SIGCONT); }
  const std::string& target() const { return target_; }

  // Calls until each has answered: the client is connected to all.
  void AnswerInTurn(const std::function<absl::Status()>& call) const {
    const std::vector<double> before = Served();
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 9; ++i) ASSERT_EQ(call(), absl::OkStatus());
      const std::vector<double> now = Served();
      if (std::equal(now.begin(), now.end(), before.begin(), std::greater<>())) return;
    }
    FAIL() << "a replica answers none";
  }

  std::unique_ptr<Client> Connect(milliseconds timeout, const RetryPolicy& retry = {},
                                  const ConnectionOptions& connection = {}) const {
    ClientOptions options;
    options.timeout = timeout;
    options.retry = retry;
    options.connection = connection;
    return *Client::Connect(target_, options);
  }

 private:
  // Sums of f32, by replica.
  std::vector<double> Served() const {
    std::vector<double> served;
    for (const auto& server : servers_) {
      const double count = e2e::MetricValue(
          e2e::MetricsPage(server->metrics_port()),
          "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"Reduce\",op=\"sum\"}");
      served.push_back(std::isnan(count) ? 0 : count);  // NaN: none yet
    }
    return served;
  }

  std::vector<std::unique_ptr<e2e::ServerProcess>> servers_;
  std::string target_;
};

// Ones, and the sum of them.
class Ones {
 public:
  explicit Ones(std::size_t count) : values_(count, 1.0F) {}
  TensorView view() const {
    return {v1::DTYPE_F32, {static_cast<std::int64_t>(values_.size())}, bytes()};
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values_)); }

 private:
  std::vector<float> values_;
};

const ReduceOptions kSum{.ops = {v1::OP_SUM}};

TEST(SmallCallTest, AReplicaThatHangsCostsOneCallLessThanASecond) {
  const Replicas replicas(3);
  const Ones ones(1024);
  const auto client = replicas.Connect(seconds(1));
  replicas.AnswerInTurn([&] { return client->Reduce(ones.view(), kSum).status(); });
  // Often enough that gRPC would have measured the bandwidth, by PINGs.
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(client->Reduce(ones.view(), kSum).ok());
  replicas.Stop(1);
  int tried_again = 0;
  for (int i = 0; i < 20; ++i) {
    const auto answer = client->Reduce(ones.view(), kSum);
    ASSERT_TRUE(answer.ok()) << i << ": " << answer.status();
    if (answer->attempts > 1) ++tried_again;
  }
  EXPECT_EQ(tried_again, 1);

  // It takes part again: soon no other is left.
  replicas.Continue(1);
  replicas.Stop(0);
  replicas.Stop(2);
  ReduceOptions patient = kSum;
  patient.timeout = seconds(20);
  const auto answer = client->Reduce(ones.view(), patient);
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(SmallCallTest, CallsOfManyThreadsSurviveAReplicaThatHangs) {
  const Replicas replicas(3);
  const Ones ones(1024);
  const auto client = replicas.Connect(seconds(1));
  const auto ask = [&] { return client->Reduce(ones.view(), kSum).status(); };
  replicas.AnswerInTurn(ask);
  replicas.Stop(2);
  std::vector<std::future<absl::Status>> asked;
  for (int i = 0; i < 20; ++i) asked.push_back(std::async(std::launch::async, ask));
  for (auto& status : asked) EXPECT_EQ(status.get(), absl::OkStatus());
}

TEST(SmallCallTest, AServerThatHangsIsNamedAndCallsGoOnWithIt) {
  const Replicas alone(1);
  const Ones ones(1024);
  const auto client = alone.Connect(seconds(2));
  alone.Stop(0);
  const absl::Status hung = client->Reduce(ones.view(), kSum).status();
  EXPECT_EQ(hung.code(), absl::StatusCode::kDeadlineExceeded) << hung;
  EXPECT_THAT(std::string(hung.message()), HasSubstr(alone.target() + " does not answer: "));
  alone.Continue(0);
  ReduceOptions patient = kSum;
  patient.timeout = seconds(20);
  const auto answer = client->Reduce(ones.view(), patient);
  EXPECT_TRUE(answer.ok()) << answer.status();
}

// Of 4 KiB, of one message that is not small, and of a stream that waits for the server to read.
class SlowServerTest : public testing::TestWithParam<std::size_t> {};

TEST_P(SlowServerTest, ACallIsNotCutWhileAServerThatHangsIsLeft) {
  FakeServer slow;
  ClientOptions options;
  const auto client = *Client::Connect(slow.address(), options);
  slow.service().Hang();
  const Ones ones(GetParam() / sizeof(float));
  auto waiting = client->ReduceAsync(ones.view(), kSum);
  while (slow.service().unary_calls() + slow.service().stream_calls() == 0) {
    std::this_thread::yield();
  }

  // Four times the limits of the call above, and begun after it.
  const Replicas alone(1);
  ConnectionOptions patient;
  patient.ping_after *= 4;
  patient.ping_timeout *= 4;
  const auto other = alone.Connect(seconds(60), {.attempts_max = 1}, patient);
  alone.Stop(0);
  const Ones few(1024);
  const absl::Status left = other->Reduce(few.view(), kSum).status();
  EXPECT_EQ(left.code(), absl::StatusCode::kUnavailable) << left;

  slow.service().Release();
  const auto answer = waiting.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->attempts, 1);
}

INSTANTIATE_TEST_SUITE_P(Bytes, SlowServerTest, testing::Values(4 << 10, 1 << 20, 8 << 20));

TEST(SmallCallTest, ALongCallIsNotCut) {
  if (std::getenv("WARPFOLD_LONG_TESTS") == nullptr) GTEST_SKIP() << "half a minute";
  FakeServer slow(FakeServer::Pings::kPermitted);
  const auto client = *Client::Connect(slow.address(), {});
  slow.service().Hang();
  const Ones ones(1024);
  auto waiting = client->ReduceAsync(ones.view(), kSum);
  EXPECT_EQ(waiting.wait_for(seconds(30)), std::future_status::timeout);
  slow.service().Release();
  const auto answer = waiting.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->attempts, 1);
}

// Of calls that are not small no server is asked: one finds out by its timeout, and the next ones,
// which have new connections, are answered by others.
TEST(SmallCallTest, AReplicaThatHangsCostsOneCallThatIsNotSmallItsTimeout) {
  const Replicas replicas(3);
  const Ones many(1 << 18);
  const auto client = replicas.Connect(seconds(20));
  replicas.AnswerInTurn([&] { return client->Reduce(many.view(), kSum).status(); });
  replicas.Stop(1);
  ReduceOptions hasty = kSum;
  hasty.timeout = milliseconds(500);
  absl::Status status;
  for (int i = 0; i < 9 && status.ok(); ++i) {
    status = client->Reduce(many.view(), hasty).status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  for (int i = 0; i < 20; ++i) {
    const auto answer = client->Reduce(many.view(), kSum);
    ASSERT_TRUE(answer.ok()) << i << ": " << answer.status();
  }
}

TEST(SmallCallTest, CallsThatAreNotSmallLearnOfAReplicaThatHangsFromSmallOnes) {
  const Replicas replicas(3);
  const Ones few(1024);
  const Ones many(1 << 18);
  const auto client = replicas.Connect(seconds(20));
  for (const TensorView& view : {few.view(), many.view()}) {
    replicas.AnswerInTurn([&] { return client->Reduce(view, kSum).status(); });
  }
  replicas.Stop(1);
  int attempts = 0;
  for (int i = 0; i < 9; ++i) {
    const auto answer = client->Reduce(few.view(), kSum);
    ASSERT_TRUE(answer.ok()) << answer.status();
    attempts += answer->attempts;
  }
  ASSERT_EQ(attempts, 10);
  for (int i = 0; i < 20; ++i) {
    const auto answer = client->Reduce(many.view(), kSum);
    ASSERT_TRUE(answer.ok()) << i << ": " << answer.status();
    EXPECT_EQ(answer->attempts, 1);
  }
}

class SmallCallPoolTest : public testing::Test {
 protected:
  CallReply Try(SmallCall& call) const {
    v1::ReduceRequest request;
    request.add_ops()->set_op(v1::OP_SUM);
    ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_F32);
    ValuesOf(request).mutable_tensor()->add_shape(1);
    request.set_data(std::string(4, '\0'));
    return call.Try(kReduceMethod, request.SerializeAsString(), {},
                    {std::chrono::system_clock::now() + seconds(60), {}});
  }
};

TEST_F(SmallCallPoolTest, AServerThatTakesPingsForAbuseIsNotAskedAgain) {
  FakeServer old;
  old.service().Hang();
  ConnectionPool pool(old.address(), {});
  SmallCall call(pool);
  ASSERT_NE(pool.small(), pool.first());
  const CallReply reply = Try(call);
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(pool.small(), pool.first()) << reply.status.error_message();
}

TEST_F(SmallCallPoolTest, ACallThatIsCutTwiceGivesServersMoreTime) {
  const Replicas replicas(2);
  ConnectionPool pool(replicas.target(), {});
  SmallCall call(pool);
  replicas.AnswerInTurn([&] { return ToAbslStatus(Try(call).status, replicas.target(), 1); });
  replicas.Stop(0);
  replicas.Stop(1);
  const auto hasty = pool.small();
  EXPECT_EQ(Try(call).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(pool.small(), hasty);
  EXPECT_EQ(Try(call).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(pool.small(), hasty);
  EXPECT_NE(pool.small(), pool.first());
}

TEST_F(SmallCallPoolTest, TheTimeThatServersGetEndsInNoQuestions) {
  ConnectionOptions options;
  options.ping_timeout = milliseconds(500);
  options.stalled_peer_timeout = milliseconds(10'000);
  ConnectionPool pool("127.0.0.1:1", options);
  auto last = pool.small();
  for (int i = 0; i < 2; ++i) {  // 2 s and 8 s
    pool.AskLessHastily(*last);
    EXPECT_NE(pool.small(), last);
    pool.AskLessHastily(*last);  // of another call that it cut
    EXPECT_NE(pool.small(), pool.first());
    last = pool.small();
  }
  pool.AskLessHastily(*last);
  EXPECT_EQ(pool.small(), pool.first());
  pool.AskLessHastily(*pool.first());
  EXPECT_EQ(pool.small(), pool.first());
}

TEST_F(SmallCallPoolTest, NoServerIsAskedWithoutALimit) {
  ConnectionOptions options;
  options.ping_after = milliseconds(0);
  ConnectionPool pool("127.0.0.1:1", options);
  EXPECT_EQ(pool.small(), pool.first());
}

TEST_F(SmallCallPoolTest, ConnectionsAreNewOnceASecondAndOldOnesStayForTheirCalls) {
  ConnectionPool pool("127.0.0.1:1", {});
  const auto first = pool.first();
  const auto second = pool.At(1);
  const auto small = pool.small();
  pool.ConnectAnew();
  const auto renewed = pool.first();
  EXPECT_NE(renewed, first);
  EXPECT_NE(pool.At(1), second);
  EXPECT_EQ(pool.small(), small);
  pool.ConnectAnew();
  EXPECT_EQ(pool.first(), renewed);
  EXPECT_EQ(first.use_count(), 1);
}

}  // namespace
}  // namespace warpfold::client
