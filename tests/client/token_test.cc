// Who a client says that it is.
#include "client/cpp/token.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/many_stream.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

TEST(TokenTest, EveryCallBringsIt) {
  FakeServer server;
  const std::vector<float> values(100, 1);
  const TensorView tensor{v1::DTYPE_F32, {100}, std::as_bytes(std::span(values))};
  for (const std::string token : {"", "token-of-a-caller"}) {
    ClientOptions options;
    options.connection.token = token;
    const std::size_t before = server.service().authorizations().size();
    const auto client = Client::Connect(server.address(), options);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_TRUE((*client)->GetServerInfo().ok());
    EXPECT_TRUE((*client)->Reduce(tensor, {.ops = {v1::OP_SUM}}).ok());
    options.stream_threshold_bytes = 0;
    const auto streaming = Client::Connect(server.address(), options);
    ASSERT_TRUE(streaming.ok()) << streaming.status();
    EXPECT_TRUE((*streaming)->Reduce(tensor, {.ops = {v1::OP_SUM}}).ok());
    const auto many = (*client)->OpenMany({});
    EXPECT_TRUE(many->Send(tensor, {.ops = {v1::OP_SUM}}).ok());
    EXPECT_TRUE(many->Receive(std::chrono::system_clock::time_point::max()).ok());
    std::vector<std::string> brought = server.service().authorizations();
    brought.erase(brought.begin(), brought.begin() + static_cast<std::ptrdiff_t>(before));
    // Each client asks what the server is when it connects.
    EXPECT_EQ(brought, std::vector<std::string>(6, token.empty() ? "" : "Bearer " + token));
  }
}

TEST(TokenTest, OneThatIsNoneIsRefusedAndNotShown) {
  ClientOptions options;
  options.connection.token = "two words";
  const absl::Status status = Client::Connect("localhost", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 7), "token: ");
  EXPECT_EQ(status.message().find("two words"), absl::string_view::npos);
}

}  // namespace
}  // namespace warpfold::client
