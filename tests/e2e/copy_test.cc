// How often a received byte is copied: the server runs with copy_counter.cc preloaded, which sees
// every copy in the process, gRPC's and protobuf's too. The bytes that the kernel brings from the
// socket are those that were received.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/many_stream.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

#ifndef WARPFOLD_COPY_COUNTER
#define WARPFOLD_COPY_COUNTER ""
#endif

namespace warpfold::e2e {
namespace {

using client::ReduceOptions;
using client::TensorView;

constexpr std::int64_t kCopyElements = 4 << 20;  // of f32
constexpr std::size_t kCopyBytes = kCopyElements * sizeof(float);

class CopyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(WARPFOLD_COPY_COUNTER)) GTEST_SKIP() << "no counter to preload";
    MapCounter();
    // The servers that a test starts inherit them.
    setenv("LD_PRELOAD", WARPFOLD_COPY_COUNTER, 1);
    setenv("WARPFOLD_COPY_COUNTER", folder_.Path("count").c_str(), 1);
    server_ = ServerProcess::Start(
        {"--shared-memory-prefix=/warpfold-copy-test-", "--max-message-bytes=64MiB"});
    unsetenv("LD_PRELOAD");
    unsetenv("WARPFOLD_COPY_COUNTER");
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    if (copied_bytes_ != nullptr) munmap(copied_bytes_, sizeof(*copied_bytes_));
  }

  std::unique_ptr<client::Client> Connect(const client::ClientOptions& options) {
    auto connected =
        client::Client::Connect("127.0.0.1:" + std::to_string(server_->grpc_port()), options);
    EXPECT_TRUE(connected.ok()) << connected.status();
    return connected.ok() ? *std::move(connected) : nullptr;
  }

  // `request` sends `bytes`, of which each is copied `times` times: within one in a hundred, for
  // what is said beside them.
  void ExpectCopies(double times, std::size_t bytes, const std::function<absl::Status()>& request) {
    const std::uint64_t before = *copied_bytes_;
    const absl::Status status = request();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_NEAR(static_cast<double>(*copied_bytes_ - before) / static_cast<double>(bytes), times,
                0.01);
  }

  const std::vector<float> ones_ = std::vector<float>(kCopyElements, 1.0F);
  const TensorView view_{v1::DTYPE_F32, {kCopyElements}, std::as_bytes(std::span(ones_))};
  const ReduceOptions sum_{.ops = {v1::OP_SUM, v1::OP_MEAN}};

 private:
  void MapCounter() {
    const int file = open(folder_.Path("count").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(ftruncate(file, sizeof(*copied_bytes_)), 0);
    void* page = mmap(nullptr, sizeof(*copied_bytes_), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    ASSERT_NE(page, MAP_FAILED);
    copied_bytes_ = static_cast<std::atomic<std::uint64_t>*>(page);
  }

  const UniqueTempFolder folder_;
  std::atomic<std::uint64_t>* copied_bytes_ = nullptr;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(CopyTest, AMessageIsCopiedOnce) {
  const auto client = Connect({.stream_threshold_bytes = kCopyBytes});
  ExpectCopies(1, kCopyBytes, [&] { return client->Reduce(view_, sum_).status(); });
}

TEST_F(CopyTest, AStreamIsCopiedOnce) {
  const auto client = Connect({.stream_threshold_bytes = -1});
  ExpectCopies(1, kCopyBytes, [&] { return client->Reduce(view_, sum_).status(); });
}

TEST_F(CopyTest, StripesAreCopiedOnce) {
  const auto client = Connect({.connections = 2, .stripe_threshold_bytes = 0});
  ExpectCopies(1, kCopyBytes, [&] { return client->Reduce(view_, sum_).status(); });
}

TEST_F(CopyTest, ManyAreCopiedOnceEach) {
  const auto client = Connect({});
  constexpr std::int64_t kItems = 256;
  ExpectCopies(1, kCopyBytes, [&]() -> absl::Status {
    const auto stream = client->OpenMany({});
    const TensorView item{
        v1::DTYPE_F32, {kCopyElements / kItems}, view_.data.first(kCopyBytes / kItems)};
    for (std::int64_t i = 0; i < kItems; ++i) {
      if (absl::Status sent = stream->Send(item, sum_); !sent.ok()) return sent;
    }
    return stream->Close();
  });
}

TEST_F(CopyTest, AResidentTensorIsCopiedOnceByItsUploadAndNotByItsReductions) {
  const auto client = Connect({});
  absl::StatusOr<client::RemoteTensor> tensor = absl::UnknownError("not put");
  ExpectCopies(1, kCopyBytes, [&] {
    tensor = client->Put(view_, {});
    return tensor.status();
  });
  ExpectCopies(0, kCopyBytes, [&] { return client->Reduce(*tensor, sum_).status(); });
}

TEST_F(CopyTest, SharedMemoryIsReadAndNotCopiedAfter) {
  const auto client = Connect({});
  auto shared = client->Share(v1::DTYPE_F32, {kCopyElements}, {});
  ASSERT_TRUE(shared.ok()) << shared.status();
  ExpectCopies(0, kCopyBytes, [&] { return client->Reduce(*shared, sum_).status(); });
}

}  // namespace
}  // namespace warpfold::e2e
