// Messages that never come whole: gRPC keeps what has come of each before anybody could admit it.
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/raw_connection.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr int kConnections = 64;
constexpr std::size_t kWholeBytes = std::size_t{8} << 20;  // 512 MiB together

class HalfMessagesTest : public ServedTest {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-message-bytes=8MiB", "--max-bytes-in-flight=16MiB"});
  }
};

TEST_F(HalfMessagesTest, ManyConnectionsDoNotFillTheServer) {
  const double before_mib = server().MemoryMib("VmRSS:");
  std::deque<RawConnection> connections;
  const std::string all_but_the_end(kWholeBytes - 1, '\0');
  for (int i = 0; i < kConnections; ++i) {
    connections.emplace_back(server().grpc_port(), "/warpfold.v1.ReductionService/Reduce");
    // False: the server has ended it, as it may.
    (void)connections.back().SendPart(kWholeBytes, all_but_the_end);
    (void)connections.back().AwaitRead();
  }
  // In flight, as much in flight in, 64 MiB for connections; what the allocator keeps beside.
  EXPECT_LT(server().MemoryMib("VmHWM:") - before_mib, 16 + 16 + 64 + 64);
  // gRPC ends connections that are idle before calls that are under way, so a call of one that it
  // has just ended gets UNAVAILABLE, which the client tries again.
  auto client = client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<float> ones(1 << 20, 1.0F);
  const client::TensorView view{v1::DTYPE_F32, {1 << 20}, std::as_bytes(std::span(ones))};
  for (int i = 0; i < 20; ++i) {
    const auto answer = (*client)->Reduce(view, {.ops = {v1::OP_SUM}});
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
}

}  // namespace
}  // namespace warpfold::e2e
