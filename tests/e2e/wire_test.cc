// What a client may put on the wire beside the contract's words: large headers, compressed
// messages, far deadlines, names that are no text. None costs the server memory, or another request
// its answer.
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/raw_connection.h"
#include "tests/e2e/served_test.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;

class WireTest : public ServedTest {
 protected:
  static void ExpectTooLarge(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_EQ(status.error_message().rfind("message: ", 0), 0U) << status.error_message();
  }
};

TEST_F(WireTest, AHeaderAboveItsLimitIsRefusedBeforeItIsParsed) {
  v1::ReduceRequest request = F32Ones(10);
  for (int i = 0; i < 70'000; ++i) request.add_axes(0);
  v1::ReduceResponse response;
  ExpectTooLarge(client().Reduce(request, &response));
  request.clear_data();
  ExpectTooLarge(client().ReduceStream({Header(request)}, &response));
  // A field that nobody knows, in a header and in a chunk's message.
  v1::ReduceStreamRequest large = Header(F32Request({10}));
  large.mutable_header()
      ->GetReflection()
      ->MutableUnknownFields(large.mutable_header())
      ->AddLengthDelimited(1000, std::string(70'000, 'x'));
  ExpectTooLarge(client().ReduceStream({large}, &response));
  large = Chunk("1234");
  large.GetReflection()->MutableUnknownFields(&large)->AddLengthDelimited(1000,
                                                                          std::string(70'000, 'x'));
  ExpectTooLarge(client().ReduceStream({Header(F32Request({10})), large}, &response));
}

TEST_F(WireTest, ACallThatWaitsForAWorkerIsSmall) {
  const auto tensors = v1::TensorService::NewStub(
      std::shared_ptr<grpc::Channel>(&client().channel(), [](grpc::Channel*) {}));
  grpc::ClientContext context;
  v1::CreateTensorRequest request;
  request.mutable_tensor()->set_dtype(v1::DTYPE_F32);
  for (int i = 0; i < 70'000; ++i) request.mutable_tensor()->add_shape(1);
  v1::CreateTensorResponse response;
  ExpectTooLarge(tensors->CreateTensor(&context, request, &response));
}

// gRPC would take all of a message's memory before it knew how large it is.
TEST_F(WireTest, CompressedMessagesAreRefused) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    v1::ReduceResponse response;
    const grpc::Status status = client().stub().Reduce(&context, F32Ones(1 << 18), &response);
    EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED) << status.error_message();
  }
}

// What clients send for "no deadline" whose times are 64 bits of nanoseconds, and the longest there
// is.
TEST_F(WireTest, ADeadlineInAThousandYearsHasNotPassed) {
  const int port = server().metrics_port();
  const std::string series =
      "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Reduce\","
      "grpc_service=\"warpfold.v1.ReductionService\",grpc_type=\"unary\"}";
  v1::ReduceResponse response;
  ASSERT_TRUE(client().Reduce(F32Ones(10), &response).ok());
  double wanted = MetricValue(MetricsPage(port), series);
  for (const char* const timeout : {"2562047H", "99999999H"}) {
    RawConnection call(server().grpc_port(), "/warpfold.v1.ReductionService/Reduce", timeout);
    ASSERT_TRUE(call.SendMessage(F32Ones(10).SerializeAsString()));
    call.HalfClose();
    ++wanted;
    EXPECT_EQ(AwaitMetric(port, series, wanted), wanted) << timeout;
  }
}

// An answer whose id is no UTF-8 would end its client's stream, and take the other answers along.
TEST_F(WireTest, AnItemWhoseIdIsNoTextFailsAlone) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const auto stream = client().stub().ReduceMany(&context);
  std::string within_a_character(255, 'a');
  within_a_character += "\xc3\xa9\xc3\xa9";  // 256 bytes end in the middle of the first
  const std::vector<std::string> ids = {"first", within_a_character, "\xff\xfe", "last"};
  for (const std::string& id : ids) {
    v1::ReduceRequest request = F32Ones(10);
    request.set_request_id(id);
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  std::vector<std::string> answered, refused;
  for (v1::ReduceManyResponse answer; stream->Read(&answer);) {
    (answer.has_status() ? refused : answered).push_back(answer.request_id());
  }
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(answered, (std::vector<std::string>{"first", "last"}));
  EXPECT_EQ(refused, (std::vector<std::string>{std::string(255, 'a'), ""}));
}

TEST_F(WireTest, ACancelledStreamIsCountedAsCancelled) {
  const int port = server().metrics_port();
  const std::string series =
      "grpc_server_handled_total{grpc_code=\"Canceled\",grpc_method=\"ReduceMany\","
      "grpc_service=\"warpfold.v1.ReductionService\",grpc_type=\"bidi_stream\"}";
  constexpr int kStreams = 20;
  const double before = MetricValue(MetricsPage(port), series);
  for (int i = 0; i < kStreams; ++i) {
    grpc::ClientContext context;
    const auto stream = client().stub().ReduceMany(&context);
    ASSERT_TRUE(stream->Write(F32Ones(10)));
    v1::ReduceManyResponse answer;
    ASSERT_TRUE(stream->Read(&answer));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  const double wanted = (std::isnan(before) ? 0 : before) + kStreams;
  EXPECT_EQ(AwaitMetric(port, series, wanted), wanted);
}

}  // namespace
}  // namespace warpfold::e2e
