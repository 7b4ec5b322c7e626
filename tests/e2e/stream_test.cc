// ReduceStream over time: silence, cancellation, deadlines, more streams than workers.
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

class StreamTest : public ServedTest {
 protected:
  // Pieces of 64 KiB: a stream is a request in flight when its first one is there.
  static void SetUpTestSuite() {
    StartServer({"--workers-per-device=2", "--staging-buffer-bytes=64KiB"});
  }

  static void ExpectMetric(const std::string& series, double value) {
    ASSERT_EQ(AwaitMetric(server().metrics_port(), series, value), value) << series;
  }
};

constexpr std::int64_t kMillion = 1'000'000;

TEST_F(StreamTest, AStreamThatIsCancelledBeforeItsFirstPieceLeavesNothing) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  ASSERT_TRUE(writer->Write(Chunk(std::string(1000, '\0'))));
  ExpectMetric("warpfold_requests_expected", 1);
  ExpectMetric("warpfold_bytes_in_flight", 1000);
  ExpectMetric("warpfold_requests_in_flight", 0);
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectMetric("warpfold_requests_expected", 0);
  ExpectMetric("warpfold_bytes_in_flight", 0);
}

TEST_F(StreamTest, AStreamThatIsCancelledBetweenPiecesLeavesNothing) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  ASSERT_TRUE(writer->Write(Chunk(std::string(100'000, '\0'))));
  ExpectMetric("warpfold_requests_in_flight", 1);
  ExpectMetric("warpfold_workers{state=\"in_use\"}", 0);  // it has no bytes to give
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectMetric("warpfold_requests_in_flight", 0);
  ExpectMetric("warpfold_bytes_in_flight", 0);
}

// Each is a piece or less ahead of its client, in turns, and no worker is held by any.
TEST_F(StreamTest, SlowStreamsTakeTurnsOnFewWorkersAndGiveTheBits) {
  constexpr int kStreams = 20;
  constexpr std::int64_t kElements = 100'000;
  struct Slow {
    grpc::ClientContext context;
    v1::ReduceResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>> writer;
  };
  std::vector<Slow> slow(kStreams);
  for (Slow& stream : slow) {
    stream.writer = client().stub().ReduceStream(&stream.context, &stream.response);
    ASSERT_TRUE(stream.writer->Write(Header(F32Request({kElements}))));
  }
  for (std::int64_t sent = 0; sent < kElements; sent += 10'000) {
    for (int i = 0; i < kStreams; ++i) {
      const std::vector<float> elements(10'000, static_cast<float>(i));
      ASSERT_TRUE(slow[static_cast<std::size_t>(i)].writer->Write(
          Chunk(std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * 4))));
    }
    if (sent == 50'000) ExpectMetric("warpfold_requests_in_flight", kStreams);
    if (sent == 50'000) ExpectMetric("warpfold_workers{state=\"in_use\"}", 0);
  }
  for (int i = 0; i < kStreams; ++i) {
    Slow& stream = slow[static_cast<std::size_t>(i)];
    stream.writer->WritesDone();
    ASSERT_TRUE(stream.writer->Finish().ok());
    float sum = 0;
    std::memcpy(&sum, stream.response.results(0).data().data(), sizeof(sum));
    EXPECT_EQ(sum, static_cast<float>(i) * kElements);
  }
}

TEST_F(StreamTest, ADeadlineEndsAStreamThatWaitsForItsClient) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(StreamTest, MoreStreamsThanWorkersAreAllServed) {
  constexpr int kStreams = 8;
  std::vector<std::jthread> senders;
  std::vector<grpc::Status> statuses(kStreams);
  std::vector<float> sums(kStreams);
  for (int i = 0; i < kStreams; ++i) {
    senders.emplace_back([this, i, &statuses, &sums] {
      const std::vector<float> ones(kMillion, 1.0F);
      const std::string bytes(reinterpret_cast<const char*>(ones.data()), ones.size() * 4);
      std::vector<v1::ReduceStreamRequest> messages{Header(F32Request({kMillion}))};
      for (std::size_t at = 0; at < bytes.size(); at += 256 << 10) {
        messages.push_back(Chunk(bytes.substr(at, 256 << 10)));
      }
      v1::ReduceResponse response;
      statuses[i] = client().ReduceStream(messages, &response);
      if (statuses[i].ok()) std::memcpy(&sums[i], response.results(0).data().data(), 4);
    });
  }
  senders.clear();
  for (int i = 0; i < kStreams; ++i) {
    EXPECT_TRUE(statuses[i].ok()) << statuses[i].error_message();
    EXPECT_EQ(sums[i], static_cast<float>(kMillion));
  }
}

class IdleTest : public ServedTest {
 protected:
  static void SetUpTestSuite() { StartServer({"--stream-idle-timeout-ms=100"}); }
};

TEST_F(IdleTest, AStreamThatFallsSilentIsEnded) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  ASSERT_TRUE(writer->Write(Chunk(std::string(1000, '\0'))));
  const grpc::Status status = writer->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message().rfind("chunk: ", 0), 0U) << status.error_message();
}

TEST_F(IdleTest, AStreamThatNeverSendsItsHeaderIsEnded) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  const grpc::Status status = writer->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message().rfind("header: ", 0), 0U) << status.error_message();
}

}  // namespace
}  // namespace warpfold::e2e
