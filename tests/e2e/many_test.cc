// ReduceMany: items are independent, answered by id, and the stream ends well.
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "google/rpc/error_details.pb.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

using Stream = grpc::ClientReaderWriter<v1::ReduceRequest, v1::ReduceManyResponse>;

class ManyTest : public ServedTest {};

// Reads until the server ends the stream.
std::map<std::string, v1::ReduceManyResponse> ReadAll(Stream& stream) {
  std::map<std::string, v1::ReduceManyResponse> answers;
  v1::ReduceManyResponse answer;
  while (stream.Read(&answer)) {
    EXPECT_TRUE(answers.emplace(answer.request_id(), answer).second)
        << answer.request_id() << " was answered twice";
  }
  return answers;
}

TEST_F(ManyTest, EveryItemIsAnsweredOnceAndTheStreamEndsOk) {
  constexpr int kItems = 1000;
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  std::jthread writer([&stream] {
    for (int i = 0; i < kItems; ++i) {
      v1::ReduceRequest request = F32Ones(i);
      request.set_request_id(std::to_string(i));
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  const auto answers = ReadAll(*stream);
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(answers.size(), static_cast<std::size_t>(kItems));
  for (const auto& [id, answer] : answers) {
    ASSERT_FALSE(answer.has_status()) << answer.status().message();
    float sum = 0;
    std::memcpy(&sum, answer.response().results(0).data().data(), sizeof(sum));
    EXPECT_EQ(sum, std::stof(id));
  }
}

// Answers that are ready together may leave together, but none waits for what is not asked yet.
TEST_F(ManyTest, AnswersLeaveThoughTheStreamGoesOn) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = client().stub().ReduceMany(&context);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i <= round % 20; ++i) ASSERT_TRUE(stream->Write(F32Ones(i)));
    float sums = 0;  // of i ones each
    for (int i = 0; i <= round % 20; ++i) {
      sums -= static_cast<float>(i);
      v1::ReduceManyResponse answer;
      ASSERT_TRUE(stream->Read(&answer)) << "round " << round << ", answer " << i;
      ASSERT_FALSE(answer.has_status()) << answer.status().message();
      sums += FirstFloat(answer.response());
    }
    EXPECT_EQ(sums, 0) << "round " << round;
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ManyTest, AFailingItemFailsAlone) {
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  v1::ReduceRequest good = F32Ones(5);
  good.set_request_id("good");
  v1::ReduceRequest bad = F32Ones(5);
  bad.set_request_id("bad");
  bad.add_axes(7);
  v1::ReduceRequest after = F32Ones(6);
  after.set_request_id("after");
  ASSERT_TRUE(stream->Write(good) && stream->Write(bad) && stream->Write(after));
  stream->WritesDone();
  auto answers = ReadAll(*stream);
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_FALSE(answers["good"].has_status());
  EXPECT_FALSE(answers["after"].has_status());
  EXPECT_EQ(answers["bad"].status().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(answers["bad"].status().message().rfind("axes: ", 0), 0U);
  EXPECT_FALSE(answers["bad"].has_response());
}

TEST_F(ManyTest, AnEmptyStreamEndsOk) {
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  stream->WritesDone();
  EXPECT_TRUE(ReadAll(*stream).empty());
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ManyTest, ACancelledStreamLeavesNothingInFlight) {
  grpc::ClientContext context;
  const auto stream = client().stub().ReduceMany(&context);
  for (int i = 0; i < 200; ++i) {
    v1::ReduceRequest request = F32Ones(1 << 12);
    request.set_request_id(std::to_string(i));
    if (i == 100) context.TryCancel();
    if (!stream->Write(request)) break;
  }
  ReadAll(*stream);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

class OneStreamTest : public ServedTest {
 protected:
  static void SetUpTestSuite() { StartServer({"--workers-per-device=1"}); }
};

TEST_F(OneStreamTest, SmallItemsPassASlowSender) {
  grpc::ClientContext holder;
  v1::ReduceResponse held;
  const auto writer = client().stub().ReduceStream(&holder, &held);
  ASSERT_TRUE(writer->Write(Header(F32Request({1}))));
  ASSERT_EQ(AwaitMetric(server().metrics_port(), "warpfold_requests_expected", 1), 1);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = client().stub().ReduceMany(&context);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream->Write(F32Ones(3)));
  stream->WritesDone();
  int answers = 0;
  for (v1::ReduceManyResponse answer; stream->Read(&answer);) answers += !answer.has_status();
  EXPECT_EQ(answers, 5);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(writer->Write(Chunk(std::string(4, '\0'))));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
}

class FullTest : public ServedTest {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-requests-in-flight=1", "--staging-buffer-bytes=64KiB"});
  }
};

// A stream that has begun holds the only ticket, so everything else is refused until it ends.
TEST_F(FullTest, AFullServerRefusesWithARetryDelayAndServesAfterwards) {
  grpc::ClientContext holder;
  v1::ReduceResponse held;
  const auto writer = client().stub().ReduceStream(&holder, &held);
  ASSERT_TRUE(writer->Write(Header(F32Request({20'000}))));
  ASSERT_TRUE(writer->Write(Chunk(std::string(64 << 10, '\0'))));
  ASSERT_EQ(AwaitMetric(server().metrics_port(), "warpfold_requests_in_flight", 1), 1);

  grpc::ClientContext context;
  v1::ReduceResponse response;
  const grpc::Status status = client().stub().Reduce(&context, F32Ones(1), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  google::rpc::Status details;
  google::rpc::RetryInfo info;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_GT(info.retry_delay().nanos(), 0);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1U);

  grpc::ClientContext many_context;
  const auto stream = client().stub().ReduceMany(&many_context);
  ASSERT_TRUE(stream->Write(F32Ones(1)));
  stream->WritesDone();
  v1::ReduceManyResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.status().code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  ASSERT_EQ(answer.status().details_size(), 1);
  EXPECT_TRUE(answer.status().details(0).Is<google::rpc::RetryInfo>());
  EXPECT_TRUE(stream->Finish().ok());

  EXPECT_TRUE(writer->Write(Chunk(std::string(80'000 - (64 << 10), '\0'))));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_GE(MetricValue(MetricsPage(server().metrics_port()),
                        "warpfold_admission_refusals_total{reason=\"requests\"}"),
            2);
}

}  // namespace
}  // namespace warpfold::e2e
