#include "server/core/admission/peer_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

TEST(PeerAddressTest, PortsOfAnAddressAreOne) {
  EXPECT_EQ(AddressOf("ipv4:10.0.0.1:5000"), AddressOf("ipv4:10.0.0.1:5001"));
  EXPECT_NE(AddressOf("ipv4:10.0.0.1:5000"), AddressOf("ipv4:10.0.0.2:5000"));
}

TEST(PeerAddressTest, TheFirstHalfOfIpv6IsOne) {
  const std::string one = AddressOf("ipv6:%5B2001:db8::1%5D:5000");
  EXPECT_EQ(AddressOf("ipv6:%5B2001:db8::2:3:4:5%5D:5001"), one);
  EXPECT_EQ(AddressOf("ipv6:%5B2001:db8:0:0:ffff::%5D:1"), one);
  EXPECT_EQ(AddressOf("ipv6:[2001:db8::1]:5000"), one) << "as other gRPCs write it";
  EXPECT_NE(AddressOf("ipv6:%5B2001:db8:0:1::1%5D:5000"), one);
  EXPECT_EQ(AddressOf("ipv6:%5Bfe80::1%25eth0%5D:1"), AddressOf("ipv6:%5Bfe80::2%5D:1"));
}

TEST(PeerAddressTest, Ipv4WithinIpv6IsIpv4) {
  EXPECT_EQ(AddressOf("ipv6:%5B::ffff:10.0.0.1%5D:5000"), AddressOf("ipv4:10.0.0.1:5000"));
  EXPECT_NE(AddressOf("ipv6:%5B::ffff:10.0.0.1%5D:5000"),
            AddressOf("ipv6:%5B::ffff:10.0.0.2%5D:5000"));
}

TEST(PeerAddressTest, UnixSocketsAreOne) {
  EXPECT_EQ(AddressOf("unix:"), AddressOf("unix:/run/a"));
  EXPECT_EQ(AddressOf("unix:"), AddressOf("unix-abstract:a"));
  EXPECT_NE(AddressOf("unix:"), AddressOf("ipv4:127.0.0.1:1"));
}

TEST(PeerAddressTest, WhatIsNoAddressIsOne) {
  const std::string unknown = AddressOf("");
  for (const std::string& peer :
       std::vector<std::string>{"peer", "ipv4:", "ipv4:10.0.0:1", "ipv6:", "ipv6:%5B%5D:1",
                                "ipv6:%5B2001:db8%5D:1", "ipv6:2001:db8::1"}) {
    EXPECT_EQ(AddressOf(peer), unknown) << peer;
  }
  EXPECT_NE(unknown, AddressOf("unix:"));
}

TEST(PeerAddressTest, IsTheSameAsTheSystemHasIt) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  for (const char* host : {"2001:db8::1", "::1", "::ffff:10.0.0.1"}) {
    ASSERT_EQ(inet_pton(AF_INET6, host, &v6.sin6_addr), 1);
    EXPECT_EQ(AddressOf(reinterpret_cast<const sockaddr&>(v6)),
              AddressOf(absl::StrCat("ipv6:%5B", host, "%5D:5000")));
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  ASSERT_EQ(inet_pton(AF_INET, "10.0.0.1", &v4.sin_addr), 1);
  EXPECT_EQ(AddressOf(reinterpret_cast<const sockaddr&>(v4)), AddressOf("ipv4:10.0.0.1:5000"));
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_EQ(AddressOf(other), AddressOf("unix:"));
  other.sa_family = AF_UNSPEC;
  EXPECT_EQ(AddressOf(other), AddressOf(""));
}

}  // namespace
}  // namespace warpfold
