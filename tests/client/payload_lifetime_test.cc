// A call that has returned, for whatever reason, no longer refers to its payload. Each test unmaps
// the payload at once, so that a later read by the transport is a fault and not a silent read of
// stale bytes.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "client/cpp/client.h"
#include "client/cpp/message.h"
#include "client/cpp/payload_loan.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// Memory that is gone for good at its end.
class UniqueMapping {
 public:
  explicit UniqueMapping(std::size_t size)
      : size_(size),
        data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memset(data_, 1, size_);
  }
  ~UniqueMapping() { munmap(data_, size_); }
  std::span<const std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

// A TCP server that speaks just enough HTTP/2 for a connection to count as made, opens its windows
// wide, and never reads.
class DeafPeer {
 public:
  DeafPeer() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::jthread([this] {
      connection_ = accept(listener_, nullptr, nullptr);
      // SETTINGS with INITIAL_WINDOW_SIZE 2^31-1, then WINDOW_UPDATE of the connection by 2^30.
      static constexpr char kHello[] =
          "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x7f\xff\xff\xff"
          "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x40\x00\x00\x00";
      [[maybe_unused]] const auto sent = write(connection_, kHello, sizeof(kHello) - 1);
    });
  }
  ~DeafPeer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(connection_);
    close(listener_);
  }
  const std::string& address() const { return address_; }

 private:
  int listener_;
  int connection_ = -1;
  std::string address_;
  std::jthread thread_;
};

CallLimits Within(milliseconds timeout) { return {system_clock::now() + timeout, {}}; }

TEST(PayloadLoanTest, IsReturnedWhenTheLastCopyOfASliceGoes) {
  PayloadLoan loan;
  const UniqueMapping payload(1 << 16);
  EXPECT_TRUE(loan.Returned());
  {
    grpc::Slice first = loan.Lend(payload.bytes());
    EXPECT_EQ(static_cast<const void*>(first.begin()), payload.bytes().data());
    const grpc::Slice copy = first;
    first = grpc::Slice();
    EXPECT_FALSE(loan.Returned());
  }
  EXPECT_TRUE(loan.Returned());
}

TEST(PayloadLoanDeathTest, EndingALoanThatIsStillOutAborts) {
  const UniqueMapping payload(1 << 16);
  EXPECT_DEATH(
      {
        grpc::Slice slice;
        PayloadLoan loan;
        slice = loan.Lend(payload.bytes());
      },
      "still held its bytes");
}

TEST(PayloadLifetimeTest, AfterADeadlineTheCallersMemoryMayBeUnmapped) {
  FakeServer server;
  server.service().Hang();
  for (const std::size_t size : {std::size_t{1} << 20, std::size_t{64} << 20}) {
    Connection connection(server.address(), {});
    {
      const UniqueMapping payload(size);
      const CallReply unary = connection.Unary(kReduceMethod, PayloadPrefix(size), payload.bytes(),
                                               Within(milliseconds(100)));
      EXPECT_EQ(unary.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    }
    {
      const UniqueMapping payload(size);
      const CallReply stream = connection.Stream(kReduceStreamMethod, "", payload.bytes(), 1 << 20,
                                                 Within(milliseconds(100)), {});
      EXPECT_EQ(stream.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    }
  }
}

TEST(PayloadLifetimeTest, AfterAStopRequestTheCallersMemoryMayBeUnmapped) {
  FakeServer server;
  server.service().Hang();
  Connection connection(server.address(), {});
  {
    std::stop_source stop;
    const UniqueMapping payload(16 << 20);
    CallLimits limits = Within(milliseconds(60'000));
    limits.stop = stop.get_token();
    // The fake server does not read, so the first chunks fill the window; then the stop comes from
    // inside the call.
    const CallReply reply = connection.Stream(kReduceStreamMethod, "", payload.bytes(), 32 << 10,
                                              limits, [&](std::int64_t) { stop.request_stop(); });
    EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST(PayloadLifetimeTest, AServerThatDiesInMidStreamReleasesTheMemory) {
  auto server = std::make_unique<FakeServer>();
  server->service().Hang();
  Connection connection(server->address(), {});
  std::jthread stopper;
  {
    const UniqueMapping payload(16 << 20);
    const CallReply reply = connection.Stream(kReduceStreamMethod, "", payload.bytes(), 32 << 10,
                                              Within(milliseconds(60'000)), [&](std::int64_t) {
                                                if (!stopper.joinable())
                                                  stopper = std::jthread([&] { server->Stop(); });
                                              });
    EXPECT_FALSE(reply.status.ok());
  }
}

// The hard case: the socket is full, so a write is stuck in the transport when the deadline passes,
// and nothing that gRPC offers takes it back. The kernel ends the connection after
// stalled_peer_timeout.
TEST(PayloadLifetimeTest, APeerThatStopsReadingHoldsTheMemoryNoLongerThanTheStallTimeout) {
  const DeafPeer peer;
  ConnectionOptions options;
  options.stalled_peer_timeout = milliseconds(1000);
  Connection connection(peer.address(), options);
  const auto start = steady_clock::now();
  {
    const UniqueMapping payload(64 << 20);
    const CallReply reply = connection.Stream(kReduceStreamMethod, "", payload.bytes(), 1 << 20,
                                              Within(milliseconds(200)), {});
    EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  // The kernel looks at the timeout when a probe is due; probes double from 0.2 s, so it may take
  // twice as long. Without the timeout it is a quarter of an hour.
  EXPECT_LT(steady_clock::now() - start, milliseconds(200 + 2 * 1000 + 20'000));
}

}  // namespace
}  // namespace warpfold::client
