// What an address stands for.
#include "server/system/host_port.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>

namespace warpfold {
namespace {

TEST(HostPortTest, ANumberStandsForItself) {
  const std::vector<SocketAddress> four = Resolve({"127.0.0.2", 50051});
  ASSERT_EQ(four.size(), 1U);
  ASSERT_EQ(four[0].size, sizeof(sockaddr_in));
  const auto& in4 = reinterpret_cast<const sockaddr_in&>(*four[0].get());
  EXPECT_EQ(in4.sin_family, AF_INET);
  EXPECT_EQ(ntohs(in4.sin_port), 50051);
  EXPECT_EQ(std::string(inet_ntoa(in4.sin_addr)), "127.0.0.2");

  const std::vector<SocketAddress> six = Resolve({"::1", 1});
  ASSERT_EQ(six.size(), 1U);
  ASSERT_EQ(six[0].size, sizeof(sockaddr_in6));
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(*six[0].get());
  EXPECT_EQ(in6.sin6_family, AF_INET6);
  EXPECT_EQ(ntohs(in6.sin6_port), 1);
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr));
}

TEST(HostPortTest, ASocketsAddressIsPrintedAsNumbers) {
  for (const std::string text : {"127.0.0.2:50051", "[::1]:0", "[2001:db8::a]:65535"}) {
    EXPECT_EQ(ToString(Resolve(*ParseHostPort(text)).at(0)), text);
  }
  EXPECT_EQ(ToString(SocketAddress()), "");
}

TEST(HostPortTest, ANameThatStandsForNothingIsNoLoopback) {
  const HostPort nobody{"no-such-host.invalid", 1};
  EXPECT_TRUE(Resolve(nobody).empty());
  EXPECT_FALSE(nobody.is_loopback());
  EXPECT_FALSE(Resolve({"localhost", 1}).empty());
  EXPECT_TRUE((HostPort{"localhost", 1}.is_loopback()));
}

}  // namespace
}  // namespace warpfold
