// What the client makes of the real server's words, which the fake can only repeat.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/server_process.h"

namespace warpfold::client {
namespace {

class ServerWordsTest : public testing::Test {
 protected:
  ServerWordsTest() : server_(e2e::ServerProcess::Start({"--max-tensor-bytes=1MiB"})) {}

  std::unique_ptr<Client> ConnectBy(int connections) const {
    ClientOptions options;
    options.connections = connections;
    options.stripe_threshold_bytes = 0;
    options.stripe_bytes_min = 5000;
    return *Client::Connect("127.0.0.1:" + std::to_string(server_->grpc_port()), options);
  }

  const std::unique_ptr<e2e::ServerProcess> server_;
};

TEST_F(ServerWordsTest, AnOverflowInAStripeNamesTheElementOfTheWhole) {
  std::vector<std::int64_t> values(200 * 50 * 3);
  const std::size_t first = (190 * 50 + 0) * 3 + 2;  // of the run behind output element 190 * 3 + 2
  values[first] = values[first + 3] = std::numeric_limits<std::int64_t>::max();
  const TensorView view{v1::DTYPE_I64, {200, 50, 3}, std::as_bytes(std::span(values))};
  const ReduceOptions sum{.ops = {v1::OP_SUM}, .axes = {1}};
  const absl::Status whole = ConnectBy(1)->Reduce(view, sum).status();
  EXPECT_EQ(whole, absl::OutOfRangeError("ops: the sum of output element 572 is "
                                         "18446744073709551614, which does not fit in i64"));
  EXPECT_EQ(ConnectBy(3)->Reduce(view, sum).status(), whole);
}

TEST_F(ServerWordsTest, ATensorOverTheLimitWillNeverFit) {
  const std::vector<float> values((1 << 18) + 1);
  const TensorView view{
      v1::DTYPE_F32, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
  const absl::Status refused = ConnectBy(1)->Reduce(view, {.ops = {v1::OP_SUM}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(RetryDelayOf(refused), std::nullopt) << refused;
}

}  // namespace
}  // namespace warpfold::client
