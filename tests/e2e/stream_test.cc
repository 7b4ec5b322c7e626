// ReduceStream over time: silence, cancellation, deadlines, more streams than lanes.
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
  static void SetUpTestSuite() { StartServer({"--streams=2"}); }
};

constexpr std::int64_t kMillion = 1'000'000;

TEST_F(StreamTest, CancellationMidStreamFreesTheLane) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  ASSERT_TRUE(writer->Write(Chunk(std::string(1000, '\0'))));
  ASSERT_EQ(AwaitMetric(server().metrics_port(), "warpfold_streams{state=\"in_use\"}", 1), 1);
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(AwaitMetric(server().metrics_port(), "warpfold_streams{state=\"in_use\"}", 0), 0);
}

TEST_F(StreamTest, AQueuedStreamThatIsCancelledFreesItsPlaceAtOnce) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>>> writers;
  std::vector<v1::ReduceResponse> responses(3);
  for (v1::ReduceResponse& response : responses) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    writers.push_back(client().stub().ReduceStream(contexts.back().get(), &response));
    ASSERT_TRUE(writers.back()->Write(Header(F32Request({1}))));
    const double admitted = static_cast<double>(writers.size());
    ASSERT_EQ(AwaitMetric(server().metrics_port(), "warpfold_requests_in_flight", admitted),
              admitted);
  }
  ASSERT_EQ(AwaitMetric(server().metrics_port(), "warpfold_queue_depth", 1), 1);
  contexts[2]->TryCancel();
  EXPECT_EQ(writers[2]->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(AwaitMetric(server().metrics_port(), "warpfold_requests_in_flight", 2), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(writers[i]->Write(Chunk(std::string(4, '\0'))));
    writers[i]->WritesDone();
    EXPECT_TRUE(writers[i]->Finish().ok());
  }
}

TEST_F(StreamTest, ADeadlineMidStreamFreesTheLane) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  v1::ReduceResponse response;
  const auto writer = client().stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({kMillion}))));
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(StreamTest, MoreStreamsThanLanesAreAllServed) {
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
