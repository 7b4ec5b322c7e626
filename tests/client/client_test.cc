// The client library against the fake service: results, the choice of method, retries, errors.
#include "client/cpp/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "client/cpp/many_stream.h"
#include "client/cpp/message.h"
#include "tests/client/fake_service.h"
#include "tests/contract/values_of.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

ClientOptions FastRetries() {
  ClientOptions options;
  options.retry.backoff_first = milliseconds(1);
  options.timeout = milliseconds(20'000);
  return options;
}

std::unique_ptr<Client> ConnectTo(const FakeServer& server,
                                  const ClientOptions& options = FastRetries()) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(server.address(), options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

template <typename T>
TensorView View(DType dtype, const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
  return {dtype, shape, std::as_bytes(std::span(values))};
}

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

FakeService::Failure Fails(grpc::StatusCode code, std::optional<int> pushback_ms = {}) {
  return {code, "planned", pushback_ms, {}};
}

TEST(ClientTest, AllOpsOfOneCallComeBackInTheOrderAsked) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto answer =
      client->Reduce(View(v1::DTYPE_F32, {2, 3}, values),
                     {.ops = {v1::OP_MEAN, v1::OP_SUM}, .axes = {-1}, .keepdims = true});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->results.size(), 2u);
  EXPECT_EQ(answer->results[0].op, v1::OP_MEAN);
  EXPECT_THAT(answer->results[0].tensor.shape, ElementsAre(2, 1));
  EXPECT_THAT(Values<float>(answer->results[0].tensor), ElementsAre(2, 5));
  EXPECT_THAT(Values<float>(answer->results[1].tensor), ElementsAre(6, 15));
  EXPECT_EQ(answer->device, "fake");
  EXPECT_EQ(answer->attempts, 1);
  EXPECT_EQ(server.service().unary_calls(), 1);
}

TEST(ClientTest, CallsWithoutWaitingAreAnsweredEachByItself) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<std::int64_t> values = {1, 2, 3};
  std::vector<std::future<absl::StatusOr<ReduceAnswer>>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(client->ReduceAsync(View(v1::DTYPE_I64, {3}, values),
                                          {.ops = {v1::OP_SUM}, .axes = {i % 2}}));
  }
  for (int i = 0; i < 8; ++i) {
    const auto answer = answers[static_cast<std::size_t>(i)].get();
    ASSERT_EQ(answer.ok(), i % 2 == 0) << answer.status();
    if (answer.ok()) {
      EXPECT_THAT(Values<std::int64_t>(answer->results[0].tensor), ElementsAre(6));
    }
  }
}

TEST(ClientTest, HandWrittenMessagesAreWhatProtobufWrites) {
  v1::ReduceRequest request;
  request.set_request_id("r");
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_F64);
  ValuesOf(request).mutable_tensor()->add_shape(-3);
  request.add_ops()->set_op(v1::OP_SUM);
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16'383u, 16'384u, 300'000u}) {
    const std::string payload(size, 'x');
    v1::ReduceRequest whole = request;
    whole.set_data(payload);
    const std::string by_hand = ReduceRequestHead(request, size) + payload;
    v1::ReduceRequest read;
    EXPECT_TRUE(read.ParseFromString(by_hand));
    EXPECT_EQ(read.SerializeAsString(), whole.SerializeAsString()) << size;
    // Of no bytes protobuf leaves the field out.
    if (size > 0) {
      EXPECT_EQ(by_hand, whole.SerializeAsString()) << size;
    }
    v1::ReduceStreamRequest chunk;
    chunk.set_chunk(payload);
    EXPECT_EQ(PayloadPrefix(size) + payload, chunk.SerializeAsString()) << size;
  }
  v1::ReduceStreamRequest first;
  *first.mutable_header() = request;
  EXPECT_EQ(StreamHeaderMessage(request), first.SerializeAsString());
}

// Sizes around every border: copied or lent, unary or stream, whole chunks or a rest.
TEST(ClientTest, EverySizeArrivesWholeByEitherMethod) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.stream_threshold_bytes = 100'000;
  options.chunk_bytes = 32'768;
  const auto client = ConnectTo(server, options);
  std::mt19937_64 random(20261121);
  for (const int count : {0, 1, 2047, 2048, 2049, 12'500, 12'501, 16'384, 20'480, 20'481}) {
    std::vector<std::int64_t> values(count);
    for (auto& value : values) value = static_cast<std::int64_t>(random() >> 16);
    const std::int64_t sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
    const int streams_before = server.service().stream_calls();
    const auto answer = client->Reduce(View(v1::DTYPE_I64, {count}, values), {.ops = {v1::OP_SUM}});
    ASSERT_TRUE(answer.ok()) << count << ": " << answer.status();
    EXPECT_THAT(Values<std::int64_t>(answer->results[0].tensor), ElementsAre(sum)) << count;
    EXPECT_EQ(server.service().stream_calls() - streams_before, count * 8 > 100'000 ? 1 : 0);
  }
  EXPECT_THAT(server.service().last_chunk_sizes(),
              ElementsAre(32'768, 32'768, 32'768, 32'768, 32'768, 8));
}

TEST(ClientTest, ATensorOverTheServersMessageLimitIsStreamed) {
  FakeServer server;
  server.service().info().mutable_limits()->set_max_message_bytes(1000);
  const auto client = ConnectTo(server);
  const std::vector<double> values(200, 0.5);
  const auto answer = client->Reduce(View(v1::DTYPE_F64, {200}, values), {.ops = {v1::OP_SUM}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(Values<double>(answer->results[0].tensor), ElementsAre(100.0));
  EXPECT_EQ(server.service().stream_calls(), 1);
  EXPECT_THAT(server.service().last_chunk_sizes(), ElementsAre(1000, 600));
}

TEST(ClientTest, ProgressGrowsToTheTensorsBytes) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.stream_threshold_bytes = 0;
  options.chunk_bytes = 400;
  const auto client = ConnectTo(server, options);
  std::vector<std::int64_t> seen;
  const std::vector<float> values(250);
  ASSERT_TRUE(client
                  ->Reduce(View(v1::DTYPE_F32, {250}, values),
                           {.ops = {v1::OP_SUM},
                            .progress = [&](std::int64_t sent) { seen.push_back(sent); }})
                  .ok());
  EXPECT_THAT(seen, ElementsAre(400, 800, 1000));
}

TEST(ClientTest, AByteCountThatDoesNotFitTheShapeIsRefusedBeforeAnythingIsSent) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(5);
  const auto answer = client->Reduce(View(v1::DTYPE_F32, {2, 3}, values), {.ops = {v1::OP_SUM}});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer.status().message(), "data: 20 bytes, but f32 (2, 3) is 24");
  EXPECT_EQ(server.service().unary_calls(), 0);
}

TEST(ClientTest, TheServersMessageReachesTheCaller) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  const auto answer =
      client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}, .axes = {7}});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer.status().message(), "axes: 7 is out of range");
}

TEST(ClientTest, AnswersThatDoNotFitTheQuestionAreInternalErrors) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  v1::ReduceResponse lie;
  v1::Result& result = *lie.add_results();
  result.mutable_spec()->set_op(v1::OP_SUM);
  result.mutable_tensor()->set_dtype(v1::DTYPE_F32);
  result.set_data("abc");  // 3 bytes for a scalar of 4
  server.service().AnswerWith(lie);
  const auto short_data = client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}});
  EXPECT_EQ(short_data.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(short_data.status().message()), HasSubstr("3 bytes"));
  result.set_data("abcd");
  const auto wrong_op = client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_MIN}});
  EXPECT_EQ(wrong_op.status().code(), absl::StatusCode::kInternal);
  const auto too_few =
      client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM, v1::OP_MIN}});
  EXPECT_THAT(std::string(too_few.status().message()), HasSubstr("1 results to 2 ops"));
}

TEST(ClientTest, UnavailableIsTriedAgainUntilItSucceeds) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6, 1.0f);
  server.service().FailNext(3, Fails(grpc::StatusCode::UNAVAILABLE));
  const auto answer = client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->attempts, 4);
  EXPECT_EQ(server.service().unary_calls(), 4);
}

TEST(ClientTest, ACancellationIsTriedAgainUnlessTheCallerAskedForIt) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6, 1.0f);
  const TensorView view = View(v1::DTYPE_F32, {6}, values);
  server.service().FailNext(2, Fails(grpc::StatusCode::CANCELLED));
  EXPECT_TRUE(client->Reduce(view, {.ops = {v1::OP_SUM}}).ok());
  EXPECT_EQ(server.service().unary_calls(), 3);
  std::stop_source stopped;
  stopped.request_stop();
  const auto answer = client->Reduce(view, {.ops = {v1::OP_SUM}, .stop = stopped.get_token()});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
  EXPECT_LE(server.service().unary_calls(), 4);
}

TEST(ClientTest, AttemptsAreBoundedAndTheErrorSaysHowMany) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.retry.attempts_max = 5;
  const auto client = ConnectTo(server, options);
  const std::vector<float> values(6);
  server.service().FailNext(100, Fails(grpc::StatusCode::UNAVAILABLE));
  const auto answer = client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answer.status().message(), server.address() + ": planned (after 5 attempts)");
  EXPECT_EQ(server.service().unary_calls(), 5);
}

TEST(ClientTest, AFullServerIsTriedAgainOnlyWhenItSaysWhen) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  const TensorView view = View(v1::DTYPE_F32, {6}, values);
  server.service().FailNext(1, Fails(grpc::StatusCode::RESOURCE_EXHAUSTED));
  const absl::Status final = client->Reduce(view, {.ops = {v1::OP_SUM}}).status();
  EXPECT_EQ(final.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryDelayOf(final), std::nullopt);
  EXPECT_EQ(server.service().unary_calls(), 1);

  server.service().FailNext(2, Fails(grpc::StatusCode::RESOURCE_EXHAUSTED, 1));
  EXPECT_TRUE(client->Reduce(view, {.ops = {v1::OP_SUM}}).ok());
  EXPECT_EQ(server.service().unary_calls(), 4);

  server.service().FailNext(2, {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", {}, 1});
  EXPECT_TRUE(client->Reduce(view, {.ops = {v1::OP_SUM}}).ok());
  EXPECT_EQ(server.service().unary_calls(), 7);

  server.service().FailNext(1, Fails(grpc::StatusCode::UNAVAILABLE, -1));
  EXPECT_FALSE(client->Reduce(view, {.ops = {v1::OP_SUM}}).ok());
  EXPECT_EQ(server.service().unary_calls(), 8);
}

TEST(ClientTest, ADeadlineThatPassesDuringARetryNamesTheFailureBefore) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  server.service().FailNext(1, Fails(grpc::StatusCode::RESOURCE_EXHAUSTED, 1));
  server.service().HangAt(2);
  const absl::Status status =
      client
          ->Reduce(View(v1::DTYPE_F32, {6}, values),
                   {.ops = {v1::OP_SUM}, .timeout = std::chrono::milliseconds(500)})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              ::testing::EndsWith(", before that planned (after 2 attempts)"));
}

TEST(ClientTest, AServerThatStaysFullStillSaysWhen) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.retry.attempts_max = 5;
  const auto client = ConnectTo(server, options);
  const std::vector<float> values(6);
  const TensorView view = View(v1::DTYPE_F32, {6}, values);
  for (const auto& failure :
       {Fails(grpc::StatusCode::RESOURCE_EXHAUSTED, 1),
        FakeService::Failure{grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", {}, 1}}) {
    server.service().FailNext(100, failure);
    const absl::Status full = client->Reduce(view, {.ops = {v1::OP_SUM}}).status();
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(RetryDelayOf(full), std::chrono::milliseconds(1));
  }
}

TEST(ClientTest, AnItemThatIsRefusedSaysWhenToo) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  const auto many = client->OpenMany({});
  const auto refusal = [&](std::optional<int> retry_info_ms) {
    server.service().FailNext(1,
                              {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", {}, retry_info_ms});
    EXPECT_TRUE(many->Send(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}}).ok());
    return (*many->Receive(std::chrono::system_clock::time_point::max()))->answer.status();
  };
  EXPECT_EQ(refusal(7).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryDelayOf(refusal(7)), milliseconds(7));
  EXPECT_EQ(RetryDelayOf(refusal(std::nullopt)), std::nullopt);
}

TEST(ClientTest, StreamsAreTriedAgainFromTheStart) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.stream_threshold_bytes = 0;
  const auto client = ConnectTo(server, options);
  const std::vector<float> values(1 << 20, 0.5f);
  server.service().FailNext(2, Fails(grpc::StatusCode::RESOURCE_EXHAUSTED, 1));
  const auto answer = client->Reduce(View(v1::DTYPE_F32, {1 << 20}, values), {.ops = {v1::OP_SUM}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(Values<float>(answer->results[0].tensor), ElementsAre(524288.0f));
  EXPECT_EQ(server.service().stream_calls(), 3);
}

TEST(ClientTest, PermanentErrorsAreNotTriedAgain) {
  FakeServer server;
  const auto client = ConnectTo(server);
  const std::vector<float> values(6);
  for (const auto code : {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::OUT_OF_RANGE,
                          grpc::StatusCode::INTERNAL, grpc::StatusCode::UNIMPLEMENTED}) {
    const int before = server.service().unary_calls();
    server.service().FailNext(1, Fails(code, 1));
    EXPECT_EQ(
        static_cast<int>(client->Reduce(View(v1::DTYPE_F32, {6}, values), {.ops = {v1::OP_SUM}})
                             .status()
                             .code()),
        static_cast<int>(code));
    EXPECT_EQ(server.service().unary_calls(), before + 1);
  }
}

TEST(ClientTest, NobodyListeningIsUnavailableAndNamesTheTarget) {
  std::string address;
  {
    FakeServer server;
    address = server.address();
  }
  const auto client = Client::Connect(address, FastRetries());
  EXPECT_EQ(client.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(client.status().message()), HasSubstr(address));
}

TEST(ClientTest, ThreadsShareOneClient) {
  FakeServer server;
  ClientOptions options = FastRetries();
  options.stream_threshold_bytes = 50'000;
  const auto client = ConnectTo(server, options);
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int count = 1000 * (t + 1) * (i % 5 + 1);
        const std::vector<std::int32_t> values(count, t);
        const auto answer =
            client->Reduce(View(v1::DTYPE_I32, {count}, values), {.ops = {v1::OP_SUM}});
        if (answer.ok() && Values<std::int64_t>(answer->results[0].tensor)[0] == count * t) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace warpfold::client
