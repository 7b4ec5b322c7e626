#include "server/drain_connections.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/synchronization/notification.h"

namespace warpfold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class FakeAcceptor final : public Acceptor {
 public:
  void StopAccepting() override {}
  void ExpectOwn(const SocketAddress& /*own*/) override {}
  void SetConnectionsMax(const ConnectionsMax& /*connections_max*/) override {}
  std::int64_t EndAll() override {
    if (ends++ == 0) first_.Notify();
    return 1;
  }
  ConnectionCounts counts() const override { return {}; }

  void AwaitEnd() const { first_.WaitForNotification(); }
  std::atomic<int> ends{0};

 private:
  absl::Notification first_;
};

class DrainConnectionsTest : public ::testing::Test {
 protected:
  // A drain that ends once `until` returns.
  template <typename Until>
  void Drain(milliseconds timeout, const Until& until) {
    absl::Notification ended;
    const std::jthread drain([&] {
      EndConnectionsOfDrain(timeout, ended, {admission_, acceptor_, log_});
    });
    until();
    ended.Notify();
  }

  AdmissionController admission_{{.max_requests_in_flight = 1, .max_bytes_in_flight = 1 << 20}};
  FakeAcceptor acceptor_;
  Log log_{LogOptions{.level = LogLevel::kError}};
};

TEST_F(DrainConnectionsTest, EndsThoseWithoutACallLongBeforeTheTimeout) {
  Drain(hours(1), [this] { acceptor_.AwaitEnd(); });
}

TEST_F(DrainConnectionsTest, EndsAllAfterTheTimeout) {
  const auto ticket = admission_.Admit(HeldBytes{.payload = 1});
  ASSERT_TRUE(ticket.ok());
  Drain(milliseconds(0), [this] { acceptor_.AwaitEnd(); });
}

// Those of a server without a request are ended twice meanwhile.
TEST_F(DrainConnectionsTest, LeavesThemAloneWhileOneHasACall) {
  FakeAcceptor idle;
  AdmissionController nobody{{.max_requests_in_flight = 1, .max_bytes_in_flight = 1}};
  auto ticket = admission_.Admit(HeldBytes{.payload = 1});
  ASSERT_TRUE(ticket.ok());
  absl::Notification ended;
  const std::jthread other([&] { EndConnectionsOfDrain(hours(1), ended, {nobody, idle, log_}); });
  Drain(hours(1), [&] {
    while (idle.ends < 2) std::this_thread::yield();
    EXPECT_EQ(acceptor_.ends, 0);
    ticket->Release();
    acceptor_.AwaitEnd();
  });
  ended.Notify();
}

}  // namespace
}  // namespace warpfold
