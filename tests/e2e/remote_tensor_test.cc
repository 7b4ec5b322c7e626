// The C++ client's handles of resident tensors, against the real server.
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/tensor_fixture.h"

namespace warpfold::e2e {
namespace {

using client::TensorView;

class RemoteTensorTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-resident-bytes=16MiB", "--max-message-bytes=64KiB"});
  }
  void SetUp() override {
    TensorFixture::SetUp();
    auto connected =
        client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
    ASSERT_TRUE(connected.ok()) << connected.status();
    client_ = *std::move(connected);
  }

  static float Value(const client::ReduceAnswer& answer) {
    float value = 0;
    std::memcpy(&value, answer.results.at(0).tensor.data.data(), sizeof(value));
    return value;
  }
  std::size_t Resident() { return ListTensors(tensors()).size(); }

  const std::vector<float> ones_ = std::vector<float>(1'000'000, 1.0F);
  const TensorView view_{v1::DTYPE_F32, {1000, 1000}, std::as_bytes(std::span(ones_))};
  const client::ReduceOptions sum_{.ops = {v1::OP_SUM}};
  std::unique_ptr<client::Client> client_;
};

TEST_F(RemoteTensorTest, ATensorIsPutOnceAndReducedUntilItsHandleGoes) {
  {
    std::int64_t sent_bytes = 0;
    auto tensor = client_->Put(view_, {.ttl = std::chrono::milliseconds(60'000),
                                       .request_id = "put",
                                       .progress = [&](std::int64_t sent) { sent_bytes = sent; }});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(sent_bytes, 4'000'000);
    EXPECT_EQ(tensor->dtype(), v1::DTYPE_F32);
    EXPECT_EQ(tensor->shape(), view_.shape);
    for (int i = 0; i < 3; ++i) {
      const auto answer = client_->Reduce(*tensor, sum_);
      ASSERT_TRUE(answer.ok()) << answer.status();
      EXPECT_EQ(Value(*answer), 1'000'000.0F);
    }
    const auto rows = client_->Reduce(*tensor, {.ops = {v1::OP_MAX}, .axes = {1}});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->results[0].tensor.shape, (std::vector<std::int64_t>{1000}));
    ASSERT_EQ(Resident(), 1U);
    EXPECT_EQ(ListTensors(tensors())[0].ttl_ms(), 60'000);
  }
  EXPECT_EQ(Resident(), 0U);
}

TEST_F(RemoteTensorTest, AHandleThatIsGivenAwayIsConsumed) {
  auto tensor = client_->Put(view_, {});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  const auto answer = client_->Reduce(*std::move(tensor), sum_);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Value(*answer), 1'000'000.0F);
  EXPECT_EQ(Resident(), 0U);

  auto other = client_->Put(view_, {});
  EXPECT_FALSE(client_->Reduce(*std::move(other), {.ops = {v1::OP_SUM}, .axes = {7}}).ok());
  EXPECT_EQ(Resident(), 0U) << "a failure leaves it";
}

TEST_F(RemoteTensorTest, HandlesMoveAndDeleteSaysHowItWent) {
  auto first = client_->Put(view_, {});
  auto second = client_->Put({v1::DTYPE_F32, {0}, {}}, {});
  ASSERT_TRUE(first.ok() && second.ok());
  const std::string id = first->id();
  *second = *std::move(first);
  EXPECT_EQ(Resident(), 1U) << "what a handle held goes when it gets another";
  EXPECT_EQ(second->id(), id);
  EXPECT_TRUE(first->id().empty());  // NOLINT(bugprone-use-after-move): holds nothing, it says
  EXPECT_TRUE(second->Delete().ok());
  EXPECT_TRUE(second->id().empty());
  EXPECT_EQ(client_->Reduce(*second, sum_).status().code(), absl::StatusCode::kNotFound);

  auto third = client_->Put(view_, {});
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(DeleteTensor(tensors(), third->id()).ok());
  EXPECT_EQ(client_->Reduce(*third, sum_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(third->Delete().code(), absl::StatusCode::kNotFound);
}

TEST_F(RemoteTensorTest, APutThatFailsLeavesNothing) {
  std::stop_source stop;
  const auto stopped = client_->Put(
      view_, {.progress = [&](std::int64_t) { stop.request_stop(); }, .stop = stop.get_token()});
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client_->Put({v1::DTYPE_F32, {3}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::vector<std::byte> large(17 << 20);
  EXPECT_EQ(client_->Put({v1::DTYPE_U8, {17 << 20}, large}, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Resident(), 0U);
}

TEST_F(RemoteTensorTest, AReleasedTensorStaysForOthers) {
  std::string id;
  {
    auto tensor = client_->Put(view_, {});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    id = tensor->Release();
  }
  EXPECT_EQ(Sum(id), 1'000'000.0F);
}

}  // namespace
}  // namespace warpfold::e2e
