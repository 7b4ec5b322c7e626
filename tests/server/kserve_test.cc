// The Open Inference Protocol's stream while the device is held back: order, bounds, cancellation;
// and what admission refuses.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "inference/grpc_service.grpc.pb.h"
#include "tests/channel.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

class KServeTest : public FrontendTest {
 protected:
  void SetUp() override {
    FrontendTest::SetUp();
    inference_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  static inference::ModelInferRequest Ask(const std::string& model, const std::string& id) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    request.set_id(id);
    inference::ModelInferRequest::InferInputTensor* input = request.add_inputs();
    input->set_name("INPUT");
    input->set_datatype("INT64");
    input->add_shape(1);
    request.add_raw_input_contents(std::string(8, '\1'));
    return request;
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> OnAConnectionOfItsOwn() {
    return inference::GRPCInferenceService::NewStub(ConnectTo(server_->port()));
  }

  static std::uint64_t Failures(inference::GRPCInferenceService::Stub& inference,
                                const std::string& model) {
    grpc::ClientContext context;
    inference::ModelStatisticsRequest request;
    request.set_name(model);
    inference::ModelStatisticsResponse response;
    EXPECT_TRUE(inference.ModelStatistics(&context, request, &response).ok());
    return response.model_stats(0).inference_stats().fail().count();
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> inference_;
};

TEST_F(KServeTest, AStreamAnswersInTheOrderAskedThoughALaterAnswerIsReadyFirst) {
  // Nothing but the stream is on its connection: what its first answers need to leave, they bring.
  const auto beside = OnAConnectionOfItsOwn();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto stream = inference_->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(Ask("sum", "first")));
  inference::ModelInferRequest wrong = Ask("mean", "second");
  wrong.mutable_inputs(0)->set_name("other");
  ASSERT_TRUE(stream->Write(wrong));
  while (Failures(*beside, "mean") == 0) std::this_thread::yield();  // its answer is ready
  device_->Open();
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_EQ(answer.infer_response().id(), "first");
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "inputs.name: 'other' is not INPUT");
  EXPECT_EQ(answer.infer_response().id(), "second");
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(KServeTest, AStreamThatIsCancelledEndsWithItemsQueuedRunningAndAnswered) {
  grpc::ClientContext context;
  const auto stream = inference_->ModelStreamInfer(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(Ask("sum", "")));
  ASSERT_TRUE(stream->Write(Ask("no such model", "")));
  AwaitInFlight(3);
  device_->AwaitBegun();
  context.TryCancel();
  AwaitInFlight(1);  // the running one cannot end until its worker moves
  device_->Open();
  AwaitInFlight(0);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(KServeTest, AStreamHoldsABoundedNumberOfItemsAndKeepsTheirOrder) {
  grpc::ClientContext context;
  const auto stream = inference_->ModelStreamInfer(&context);
  std::jthread writer([&stream] {
    for (int i = 0; i < 500; ++i) {
      if (!stream->Write(Ask("sum", std::to_string(i)))) break;
    }
    stream->WritesDone();
  });
  AwaitInFlight(3);  // one runs, two wait; further ones are refused, behind those three
  device_->Open();
  int answers = 0;
  inference::ModelStreamInferResponse answer;
  for (; stream->Read(&answer); ++answers) {
    EXPECT_EQ(answer.infer_response().id(), std::to_string(answers)) << answer.error_message();
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answers, 500);
}

TEST_F(KServeTest, AFullServerRefusesWithADelay) {
  grpc::ClientContext stream_context;
  const auto stream = inference_->ModelStreamInfer(&stream_context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(Ask("sum", "")));
  AwaitInFlight(3);
  grpc::ClientContext context;
  inference::ModelInferResponse response;
  const grpc::Status refused = inference_->ModelInfer(&context, Ask("sum", ""), &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1);
  device_->Open();
  stream->WritesDone();
  inference::ModelStreamInferResponse answer;
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(KServeTest, ReadinessEndsBeforeTheServerDoes) {
  const auto ready = [this] {
    grpc::ClientContext context;
    inference::ServerReadyResponse response;
    EXPECT_TRUE(inference_->ServerReady(&context, {}, &response).ok());
    return response.ready();
  };
  const auto model_ready = [this](const std::string& name, const std::string& version) {
    grpc::ClientContext context;
    inference::ModelReadyRequest request;
    request.set_name(name);
    request.set_version(version);
    inference::ModelReadyResponse response;
    EXPECT_TRUE(inference_->ModelReady(&context, request, &response).ok());
    return response.ready();
  };
  EXPECT_TRUE(ready());
  EXPECT_TRUE(model_ready("describe", ""));
  EXPECT_TRUE(model_ready("l2_norm", "1"));
  EXPECT_FALSE(model_ready("sum", "2"));
  EXPECT_FALSE(model_ready("no such model", ""));
  server_->StopServing();
  EXPECT_FALSE(ready());
  EXPECT_FALSE(model_ready("sum", ""));
  grpc::ClientContext context;
  inference::RepositoryIndexRequest request;
  request.set_ready(true);
  inference::RepositoryIndexResponse index;
  EXPECT_TRUE(inference_->RepositoryIndex(&context, request, &index).ok());
  EXPECT_EQ(index.models_size(), 0);
}

}  // namespace
}  // namespace warpfold
