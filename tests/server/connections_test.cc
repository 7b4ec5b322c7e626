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
  const std::shared_ptr<Connection> first = connections.Find(trainer, At("ipv4:10.0.0.1:5000"));
  EXPECT_EQ(connections.Find(trainer, At("ipv4:10.0.0.2:5001")), first);
  EXPECT_NE(connections.Find(other, At("ipv4:10.0.0.1:5000")), first);
}

TEST(ConnectionsTest, ThoseOfAnAddressAreOneWhereOthersShowNames) {
  Connections connections;
  const Caller anonymous{.name = kAnonymousCaller, .scopes = {}};
  const std::shared_ptr<Connection> first = connections.Find(anonymous, At("ipv4:10.0.0.1:5000"));
  EXPECT_EQ(connections.Find(anonymous, At("ipv4:10.0.0.1:5001")), first);
  EXPECT_EQ(connections.AtAddressOf("ipv4:10.0.0.1:5002"), first);
  EXPECT_NE(connections.Find(anonymous, At("ipv4:10.0.0.2:5000")), first);
  EXPECT_NE(connections.Find(Everyone(), At("ipv4:10.0.0.1:5000")), first);
  EXPECT_NE(connections.Find(Everyone(), At("unix:")), connections.AtAddressOf("unix:"))
      << "a probe's";
}

TEST(ConnectionsTest, AnAddressIsACallerUntilItIsForgotten) {
  Connections connections;
  const Caller anonymous{
      .name = kAnonymousCaller, .scopes = {Scope::kReduce}, .quotas = {.requests = 3}};
  std::shared_ptr<Connection> one = connections.AtAddressOf("ipv4:10.0.0.1:5000");
  const std::shared_ptr<Connection> two = connections.AtAddressOf("ipv4:10.0.0.2:5000");
  const Caller& caller = one->As(anonymous);
  EXPECT_EQ(&one->As(anonymous), &caller);
  EXPECT_EQ(caller.name, kAnonymousCaller);
  EXPECT_TRUE(caller.scopes.Has(Scope::kReduce));
  EXPECT_EQ(caller.use->QuotaOfRequests(), 3);
  EXPECT_NE(caller.use, two->As(anonymous).use) << "another's";
  // The file of callers is read again.
  const Caller after{.name = kAnonymousCaller, .scopes = {}, .quotas = {.requests = 4}};
  EXPECT_FALSE(one->As(after).scopes.Has(Scope::kReduce));
  EXPECT_TRUE(caller.scopes.Has(Scope::kReduce)) << "a call that has begun";
  EXPECT_EQ(one->As(after).use, caller.use) << "it holds what it held";
  EXPECT_EQ(&one->As(after), &one->As(Caller(after))) << "read again, and the same";
  EXPECT_EQ(caller.use->QuotaOfRequests(), 4);
  const std::weak_ptr<CallerUse> use = caller.use;
  one.reset();
  for (int i = 0; i < 2; ++i) connections.ForgetIdle();
  EXPECT_TRUE(use.expired());
  EXPECT_EQ(connections.count(), 1);
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
