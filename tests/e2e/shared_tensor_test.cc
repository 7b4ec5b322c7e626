// The C++ client's handles of shared memory, against the real server.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "tests/e2e/region_fixture.h"

namespace warpfold::e2e {
namespace {

class SharedTensorTest : public RegionFixture {
 protected:
  // This process's own: others of these tests may run.
  static std::string Prefix() { return "warpfold-client-test-" + std::to_string(getpid()) + "-"; }
  static void SetUpTestSuite() {
    StartServer({"--shared-memory-prefix=/" + Prefix(), "--max-memory-regions=2"});
  }
  void SetUp() override {
    RegionFixture::SetUp();
    client_ = Connect();
  }
  void TearDown() override {
    client_ = nullptr;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      EXPECT_NE(file.path().filename().string().rfind(Prefix(), 0), 0U) << "left behind: " << file;
    }
    RegionFixture::TearDown();
  }
  static std::unique_ptr<client::Client> Connect() {
    auto connected =
        client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
    EXPECT_TRUE(connected.ok()) << connected.status();
    return connected.ok() ? *std::move(connected) : nullptr;
  }
  static void Fill(const client::SharedTensor& tensor, float number) {
    float* const numbers = reinterpret_cast<float*>(tensor.data().data());
    std::fill(numbers, numbers + tensor.data().size() / sizeof(float), number);
  }
  float Sum(const client::SharedTensor& tensor) {
    const auto answer = client_->Reduce(tensor, {.ops = {v1::OP_SUM}});
    EXPECT_TRUE(answer.ok()) << answer.status();
    float sum = -1;
    if (answer.ok()) std::memcpy(&sum, answer->results.at(0).tensor.data.data(), sizeof(sum));
    return sum;
  }

  std::unique_ptr<client::Client> client_;
};

TEST_F(SharedTensorTest, CudaMemoryThatIsNoneIsRefusedAndLeavesNothing) {
  const client::CudaMemory none{std::string(64, '\1'), 0};
  const absl::Status status = client_->ShareCuda(none, v1::DTYPE_F32, {10}, {}).status();
  EXPECT_TRUE(absl::IsUnimplemented(status) || absl::IsResourceExhausted(status) ||
              absl::IsInvalidArgument(status))
      << status;
  EXPECT_TRUE(ListRegions(regions()).empty());
}

TEST_F(SharedTensorTest, IsReducedAsOftenAsItIsFilledUntilItsHandleGoes) {
  {
    auto shared = client_->Share(v1::DTYPE_F32, {1000, 700}, {.request_id = "share"});
    ASSERT_TRUE(shared.ok()) << shared.status();
    EXPECT_EQ(shared->shape(), (std::vector<std::int64_t>{1000, 700}));
    EXPECT_EQ(shared->data().size(), 2'800'000U);
    EXPECT_EQ(Sum(*shared), 0.0F);
    Fill(*shared, 1);
    EXPECT_EQ(Sum(*shared), 700'000.0F);
    Fill(*shared, 2);
    const auto rows = client_->Reduce(*shared, {.ops = {v1::OP_MAX}, .axes = {1}});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->results.at(0).tensor.shape, std::vector<std::int64_t>{1000});
    EXPECT_EQ(ListRegions(regions()).size(), 1U);
  }
  EXPECT_TRUE(ListRegions(regions()).empty());
}

TEST_F(SharedTensorTest, MovesAndEndsOnce) {
  auto first = client_->Share(v1::DTYPE_F32, {10}, {});
  auto second = client_->Share(v1::DTYPE_F32, {20}, {});
  ASSERT_TRUE(first.ok() && second.ok());
  const auto full =
      client_->Share(v1::DTYPE_F32, {30}, {.timeout = std::chrono::milliseconds(500)});
  EXPECT_TRUE(absl::IsResourceExhausted(full.status()) || absl::IsDeadlineExceeded(full.status()))
      << full.status();
  *first = *std::move(second);
  EXPECT_EQ(ListRegions(regions()).size(), 1U);
  Fill(*first, 1);
  EXPECT_EQ(Sum(*first), 20.0F);
  EXPECT_TRUE(first->Unregister().ok());
  EXPECT_EQ(first->region(), "");
  EXPECT_EQ(first->data().size(), 80U) << "the bytes stay";
  EXPECT_TRUE(absl::IsNotFound(client_->Reduce(*first, {.ops = {v1::OP_SUM}}).status()));
  EXPECT_TRUE(first->Unregister().ok());
}

TEST_F(SharedTensorTest, WhatCannotBeSharedIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(client_->Share(v1::DTYPE_F32, {0, 5}, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client_->Share(v1::DTYPE_F32, {-1}, {}).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(
      client_->Share(v1::DTYPE_U8, {std::int64_t{1} << 45}, {}).status()));
}

class NothingSharedTest : public ServedTest {};

TEST_F(NothingSharedTest, AServerThatTakesNoneSaysSo) {
  const auto connected =
      client::Client::Connect("127.0.0.1:" + std::to_string(server().grpc_port()), {});
  ASSERT_TRUE(connected.ok()) << connected.status();
  EXPECT_TRUE(absl::IsUnimplemented((*connected)->Share(v1::DTYPE_F32, {10}, {}).status()));
}

}  // namespace
}  // namespace warpfold::e2e
