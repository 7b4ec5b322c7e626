#include "server/core/connections.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

TEST(ConnectionsTest, AllCallsOfAConnectionHaveTheSame) {
  Connections connections;
  const std::shared_ptr<Connection> first = connections.Find("ipv4:10.0.0.1:5000");
  EXPECT_EQ(connections.Find("ipv4:10.0.0.1:5000"), first);
  EXPECT_NE(connections.Find("ipv4:10.0.0.1:5001"), first) << "another port, another connection";
}

TEST(ConnectionsTest, IsForgottenWithItsLastCall) {
  Connections connections;
  std::shared_ptr<Connection> call = connections.Find("peer");
  const std::weak_ptr<Connection> before = call;
  std::shared_ptr<Connection> another = connections.Find("peer");
  call.reset();
  EXPECT_EQ(connections.Find("peer"), another);
  another.reset();
  EXPECT_TRUE(before.expired());
  EXPECT_EQ(connections.count(), 0);
  EXPECT_NE(connections.Find("peer"), nullptr);
}

TEST(ConnectionsTest, IsOneWhileManyThreadsComeAndGo) {
  Connections connections;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          const std::shared_ptr<Connection> first = connections.Find("peer");
          ASSERT_EQ(connections.Find("peer"), first);
        }
      });
    }
  }
  EXPECT_EQ(connections.count(), 0);
}

}  // namespace
}  // namespace warpfold
