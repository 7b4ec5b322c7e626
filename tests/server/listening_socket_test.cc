#include "server/system/listening_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/system/host_port.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

ListeningSocket Open(const std::string& address) {
  absl::StatusOr<ListeningSocket> opened =
      ListeningSocket::Open(ParseListenAddresses(address)->front());
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

bool Connects(const SocketAddress& address) {
  const OwnedDescriptor client(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(client.get(), address.get(), address.size) == 0;
}
bool Connects(const std::string& host, const ListeningSocket& to) {
  for (const SocketAddress& address : Resolve({host, to.address().tcp()->port})) {
    if (Connects(address)) return true;
  }
  return false;
}

TEST(ListeningSocketTest, HasThePortThatItTook) {
  const ListeningSocket socket = Open("127.0.0.1:0");
  EXPECT_GT(socket.address().tcp()->port, 0);
  EXPECT_TRUE(Connects("127.0.0.1", socket));
  EXPECT_FALSE(Connects("127.0.0.2", socket));
}

TEST(ListeningSocketTest, EveryAddressIsThatOfBothFamilies) {
  const bool has_ipv6 = OwnedDescriptor(::socket(AF_INET6, SOCK_STREAM, 0)).get() >= 0;
  for (const char* every : {"0.0.0.0:0", "[::]:0"}) {
    const ListeningSocket socket = Open(every);
    EXPECT_EQ(socket.descriptors().size(), 1U);
    EXPECT_TRUE(Connects("127.0.0.1", socket)) << every;
    EXPECT_TRUE(Connects("127.0.0.2", socket)) << every;
    EXPECT_EQ(Connects("::1", socket), has_ipv6) << every;
  }
}

TEST(ListeningSocketTest, AllOfANameHaveOnePort) {
  const ListeningSocket socket = Open("localhost:0");
  EXPECT_FALSE(socket.descriptors().empty());
  std::set<int> ports;
  for (const int descriptor : socket.descriptors()) {
    ports.insert(PortOf(OwnAddressOf(descriptor)));
  }
  EXPECT_EQ(ports, std::set<int>{socket.address().tcp()->port});
}

TEST(ListeningSocketTest, SaysWhoHoldsAPort) {
  const ListeningSocket holder = Open("127.0.0.1:0");
  const auto refused = ListeningSocket::Open(holder.address());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  const std::string begin =
      absl::StrCat("listen-address: cannot listen on ", ToString(holder.address()), ": held by ");
  EXPECT_TRUE(absl::StartsWith(refused.status().message(), begin)) << refused.status();
  EXPECT_TRUE(absl::EndsWith(refused.status().message(), absl::StrCat("(pid ", getpid(), ")")));
}

TEST(ListeningSocketTest, SaysWhichAddressThisHostLacks) {
  EXPECT_EQ(ListeningSocket::Open({HostPort{"192.0.2.1", 0}}).status().message(),
            "listen-address: cannot listen on 192.0.2.1:0: Cannot assign requested address");
  EXPECT_EQ(ListeningSocket::Open({HostPort{"no-such-host.invalid", 0}}).status().message(),
            "listen-address: cannot listen on no-such-host.invalid:0: the name has no address");
}

// Clients who take the name's other address would reach whoever holds that.
TEST(ListeningSocketTest, ANameOfWhichOneAddressIsHeldIsNotHad) {
  for (const SocketAddress& one : Resolve({"localhost", 0})) {
    const std::string text = ToString(one);
    const ListeningSocket holder = Open(text);
    const int port = holder.address().tcp()->port;
    const auto refused = ListeningSocket::Open({HostPort{"localhost", port}});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable) << text;
  }
}

TEST(ListeningSocketTest, SaysWhereItIsBound) {
  const UniqueTempFolder folder;
  const ListeningSocket tcp = Open("127.0.0.1:0");
  ASSERT_EQ(tcp.bound().sockets.size(), 1U);
  EXPECT_EQ(ToString(tcp.bound().sockets[0]), ToString(tcp.address()));
  const ListeningSocket local = Open("unix:" + folder.Path("a.sock"));
  ASSERT_EQ(local.bound().sockets.size(), 1U);
  EXPECT_TRUE(Connects(local.bound().sockets[0]));
}

TEST(ListeningSocketTest, NobodyConnectsOnceItIsClosed) {
  const UniqueTempFolder folder;
  ListeningSocket tcp = Open("127.0.0.1:0");
  ListeningSocket local = Open("unix:" + folder.Path("a.sock"));
  EXPECT_EQ(access(folder.Path("a.sock").c_str(), F_OK), 0);
  for (ListeningSocket* socket : {&tcp, &local}) {
    EXPECT_EQ(socket->descriptors().size(), 1U);
    socket->Close();
    EXPECT_TRUE(socket->descriptors().empty());
  }
  EXPECT_FALSE(Connects("127.0.0.1", tcp));
  EXPECT_NE(access(folder.Path("a.sock").c_str(), F_OK), 0);
}

TEST(ListeningSocketTest, OneThatMovedKeepsItsFile) {
  const UniqueTempFolder folder;
  const std::string path = folder.Path("a.sock");
  const auto moved = [&path] {
    ListeningSocket first = Open("unix:" + path);
    return std::make_unique<ListeningSocket>(std::move(first));
  };
  std::unique_ptr<ListeningSocket> second = moved();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  second = nullptr;
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace warpfold
