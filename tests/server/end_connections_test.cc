#include "server/end_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "gtest/gtest.h"
#include "server/system/owned_descriptor.h"
#include "server/system/socket_file.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

// The two ends of a connection to a listener of its own.
class SocketPair {
 public:
  SocketPair() : client_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), accepted_(Accept()) {}

  int port() const { return port_; }
  // Of the accepted end, at the client; "" at its end.
  std::string Hear() const {
    char byte = 0;
    return recv(client_.get(), &byte, 1, 0) == 1 ? std::string(1, byte) : "";
  }
  bool Say(char byte) const { return send(accepted_.get(), &byte, 1, MSG_NOSIGNAL) == 1; }

 private:
  int Accept() {
    const OwnedDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener.get(), at, size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), at, &size), 0);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(connect(client_.get(), at, size), 0);
    return accept(listener.get(), nullptr, nullptr);
  }

  int port_ = 0;
  const OwnedDescriptor client_;
  const OwnedDescriptor accepted_;
};

TEST(EndConnectionsTest, EndsThoseOfThePortAndNoOther) {
  const SocketPair ended;
  const SocketPair other;
  EXPECT_EQ(EndConnections({HostPort{"127.0.0.1", ended.port()}}), 1);
  EXPECT_FALSE(ended.Say('a'));
  EXPECT_EQ(ended.Hear(), "");
  EXPECT_TRUE(other.Say('a'));
  EXPECT_EQ(other.Hear(), "a");
}

TEST(EndConnectionsTest, EndsThoseOfASocketAndNotItsListener) {
  const UniqueTempFolder folder;
  const UnixSocket socket{.path = folder.Path("a.sock")};
  const sockaddr_un at = AddressOf(socket);
  const auto* const address = reinterpret_cast<const sockaddr*>(&at);
  const OwnedDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), address, sizeof(at)), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const OwnedDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), address, sizeof(at)), 0);
  const OwnedDescriptor accepted(accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(EndConnections({UnixSocket{.path = folder.Path("b.sock")}}), 0);
  EXPECT_EQ(EndConnections({UnixSocket{.path = socket.path, .made_as = "/b.sock"}}), 0);
  EXPECT_EQ(EndConnections({UnixSocket{.path = "/b.sock", .made_as = socket.path}}), 1);
  EXPECT_EQ(EndConnections({socket}), 1);
  char byte = 0;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), 0);
}

TEST(EndConnectionsTest, LeavesAListenerAlone) {
  const OwnedDescriptor listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(listen(listener.get(), 1), 0);  // takes a port itself
  sockaddr_in6 address{};
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(EndConnections({HostPort{"::1", ntohs(address.sin6_port)}}), 0);
}

}  // namespace
}  // namespace warpfold
