#include "server/core/admission/connections.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

// As gRPC says where a call comes from.
auto At(const char* peer) {
  return [peer] { return std::string(peer); };
}

TEST(ConnectionsTest, AllCallsOfAConnectionHaveTheSame) {
  Connections connections;
  const std::shared_ptr<Connection> first = connections.Find(Everyone(), At("ipv4:10.0.0.1:5000"));
  EXPECT_EQ(connections.Find(Everyone(), At("ipv4:10.0.0.1:5000")), first);
  EXPECT_NE(connections.Find(Everyone(), At("ipv4:10.0.0.1:5001")), first)
      << "another port, another connection";
}

TEST(ConnectionsTest, ThoseOfACallerWithANameAreOne) {
  Connections connections;
  const Caller trainer{.name = "trainer", .scopes = {}};
  const Caller other{.name = "other", .scopes = {}};
  const Caller anonymous{.name = kAnonymousCaller, .scopes = {}};
  const std::shared_ptr<Connection> first = connections.Find(trainer, At("ipv4:10.0.0.1:5000"));
  EXPECT_EQ(connections.Find(trainer, At("ipv4:10.0.0.2:5001")), first);
  EXPECT_NE(connections.Find(other, At("ipv4:10.0.0.1:5000")), first);
  EXPECT_NE(connections.Find(anonymous, At("ipv4:10.0.0.1:5000")),
            connections.Find(anonymous, At("ipv4:10.0.0.1:5001")));
}

TEST(ConnectionsTest, IsForgottenAWhileAfterItsLastCall) {
  Connections connections;
  std::shared_ptr<Connection> call = connections.Find(Everyone(), At("peer"));
  const std::weak_ptr<Connection> before = call;
  connections.Find(Everyone(), At("another"));
  connections.ForgetIdle();
  EXPECT_EQ(connections.count(), 2) << "may have a call soon";
  connections.ForgetIdle();
  EXPECT_EQ(connections.count(), 1);
  EXPECT_EQ(connections.Find(Everyone(), At("peer")), call) << "has a call";
  call.reset();
  connections.ForgetIdle();
  connections.Find(Everyone(), At("peer"));
  EXPECT_FALSE(before.expired());
  connections.ForgetIdle();
  EXPECT_TRUE(before.expired());
  EXPECT_EQ(connections.count(), 0);
  EXPECT_NE(connections.Find(Everyone(), At("peer")), nullptr);
}

TEST(ConnectionsTest, IsOneWhileManyThreadsComeAndGo) {
  Connections connections;
  std::atomic<bool> done{false};
  std::jthread forgets([&] {
    while (!done) connections.ForgetIdle();
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          const std::shared_ptr<Connection> first = connections.Find(Everyone(), At("peer"));
          ASSERT_EQ(connections.Find(Everyone(), At("peer")), first);
        }
      });
    }
  }
  done = true;
  forgets.join();
  connections.ForgetIdle();
  connections.ForgetIdle();
  EXPECT_EQ(connections.count(), 0);
}

}  // namespace
}  // namespace warpfold
