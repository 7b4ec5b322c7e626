// Traces through a real server: what of a client's traceparent is in access lines and in answers.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "inference/grpc_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "server/frontend/wire/grpc_compat.h"
#include "server/observe/trace/span_sink.h"
#include "server/observe/trace/trace_context.h"
#include "tests/server/access_lines.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00f067aa0ba902b7";
const std::string kTraceparent = std::string("00-") + kTraceId + "-" + kParent + "-01";

// Every call has an access line, which the test reads at its end.
class TraceTest : public FrontendTest {
 protected:
  void SetUp() override {
    used_access_log_ = &lines_.access_log();
    FrontendTest::SetUp();
    device_->Open();
    inference_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  // The access lines; ends the server.
  std::vector<nlohmann::json> Lines() {
    server_ = nullptr;
    return lines_.Take();
  }

  // The server's span, by the one traceparent that the answer has; none: it has none.
  static std::optional<TraceContext> Answered(const grpc::ClientContext& context) {
    EXPECT_EQ(context.GetServerInitialMetadata().count("traceparent"), 0);
    const auto& trailers = context.GetServerTrailingMetadata();
    EXPECT_LE(trailers.count("traceparent"), 1);
    const auto found = trailers.find("traceparent");
    if (found == trailers.end()) return std::nullopt;
    const std::string text(found->second.data(), found->second.size());
    EXPECT_TRUE(ParseTraceparent(text).has_value()) << text;
    return ParseTraceparent(text);
  }

  // `line` and the answer are of one span in the client's trace.
  static void ExpectTraced(const nlohmann::json& line, const grpc::ClientContext& context) {
    const std::optional<TraceContext> answered = Answered(context);
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(ToHex(answered->trace_id), kTraceId);
    EXPECT_NE(ToHex(answered->span_id), kParent) << "the server's span has an id of its own";
    EXPECT_TRUE(answered->is_sampled) << "as the client's is";
    EXPECT_EQ(line.at("trace_id"), kTraceId);
    EXPECT_EQ(line.at("span_id"), ToHex(answered->span_id));
  }

  static inference::ModelInferRequest Inference() {
    inference::ModelInferRequest request;
    request.set_model_name("sum");
    inference::ModelInferRequest::InferInputTensor* input = request.add_inputs();
    input->set_name("INPUT");
    input->set_datatype("INT64");
    input->add_shape(1);
    request.add_raw_input_contents(std::string(8, '\1'));
    return request;
  }

  AccessLines lines_{{}};
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference_;
};

TEST_F(TraceTest, OfAUnaryCall) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceResponse response;
  ASSERT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].at("dtype"), "i64");
  ExpectTraced(lines[0], context);
}

TEST_F(TraceTest, OfAStreamOfChunks) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceResponse response;
  const auto stream = stub_->ReduceStream(&context, &response);
  stream->Write(Header());
  stream->Write(Chunk(std::string(8, '\1')));
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  ExpectTraced(lines[0], context);
}

TEST_F(TraceTest, ItemsHaveSpansOfTheirOwnInTheTraceOfTheirStream) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  const auto stream = stub_->ReduceMany(&context);
  v1::ReduceManyResponse answer;
  stream->Write(Request());
  ASSERT_TRUE(stream->Read(&answer));
  v1::ReduceRequest wrong = Request();
  wrong.clear_data();
  stream->Write(wrong);
  ASSERT_TRUE(stream->Read(&answer));
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[0].at("code"), "OK");
  EXPECT_EQ(lines[1].at("code"), "InvalidArgument");
  EXPECT_EQ(lines[2].at("status"), "");
  for (const nlohmann::json& line : lines) EXPECT_EQ(line.at("trace_id"), kTraceId);
  ExpectTraced(lines[2], context);
  EXPECT_NE(lines[0].at("span_id"), lines[1].at("span_id"));
  EXPECT_NE(lines[0].at("span_id"), lines[2].at("span_id"));
  EXPECT_NE(lines[1].at("span_id"), lines[2].at("span_id"));
}

TEST_F(TraceTest, OfACallWithoutATensor) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].at("method"), "GetServerInfo");
  ExpectTraced(lines[0], context);
}

TEST_F(TraceTest, OfAnInference) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  inference::ModelInferResponse response;
  ASSERT_TRUE(inference_->ModelInfer(&context, Inference(), &response).ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].at("method"), "ModelInfer");
  ExpectTraced(lines[0], context);
}

TEST_F(TraceTest, OfARequestThatIsRefused) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceRequest wrong = Request();
  wrong.clear_ops();
  v1::ReduceResponse response;
  EXPECT_EQ(stub_->Reduce(&context, wrong, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].at("code"), "InvalidArgument");
  ExpectTraced(lines[0], context);
}

TEST_F(TraceTest, AClientThatIsNotSampledIsAnsweredSo) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent.substr(0, 53) + "00");
  v1::ReduceResponse response;
  ASSERT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  const std::optional<TraceContext> answered = Answered(context);
  ASSERT_TRUE(answered.has_value());
  EXPECT_FALSE(answered->is_sampled);
  EXPECT_EQ(Lines().at(0).at("span_id"), ToHex(answered->span_id));
}

TEST_F(TraceTest, WithoutATraceparentNothingIsSaid) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  ASSERT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  EXPECT_FALSE(Answered(context).has_value());
  EXPECT_FALSE(Lines().at(0).contains("trace_id"));
}

TEST_F(TraceTest, WhatIsNoTraceparentIsIgnored) {
  const std::vector<std::string> wrong = {
      "",
      "trace",
      "00-" + std::string(32, '0') + "-" + kParent + "-01",
      std::string("00-") + kTraceId + "-" + std::string(16, '0') + "-01",
      std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-") + kParent + "-01",
      "ff" + kTraceparent.substr(2),
      kTraceparent + "-00",
      std::string(4096, '0')};
  for (const std::string& text : wrong) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", text);
    v1::ReduceResponse response;
    EXPECT_TRUE(stub_->Reduce(&context, Request(), &response).ok()) << text;
    EXPECT_FALSE(Answered(context).has_value()) << text;
  }
  const std::vector<nlohmann::json> lines = Lines();
  EXPECT_EQ(lines.size(), wrong.size());
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("code"), "OK");
    EXPECT_FALSE(line.contains("trace_id"));
    EXPECT_FALSE(line.contains("span_id"));
  }
}

// Newer gRPC knows that the metadata may not be repeated, and hands on the last one alone.
TEST_F(TraceTest, TwoTraceparentsAreNone) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-" + std::string(32, 'a') + "-" + kParent + "-00");
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceResponse response;
  EXPECT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 1);
  if (kGrpcIsNewerThan151) {
    ExpectTraced(lines[0], context);
  } else {
    EXPECT_FALSE(Answered(context).has_value());
    EXPECT_FALSE(lines[0].contains("trace_id"));
  }
}

// Who takes spans.
class FakeSink final : public SpanSink {
 public:
  void Take(SpanFacts facts) override {
    absl::MutexLock lock(&mutex_);
    spans_.push_back(std::move(facts));
  }
  DroppedSpans dropped() const override { return {}; }
  std::vector<SpanFacts> spans() const {
    absl::MutexLock lock(&mutex_);
    return spans_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<SpanFacts> spans_ ABSL_GUARDED_BY(mutex_);
};

class SpansTest : public TraceTest {
 protected:
  void SetUp() override {
    options_.spans = &sink_;
    TraceTest::SetUp();
  }
  // Ends the server.
  std::vector<SpanFacts> Spans() {
    server_ = nullptr;
    return sink_.spans();
  }

  FakeSink sink_;
};

TEST_F(SpansTest, ASampledRequestIsHandedOnWithWhatWasAskedAndItsStages) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceRequest request = Request();
  request.set_request_id("an id");
  v1::ReduceResponse response;
  ASSERT_TRUE(stub_->Reduce(&context, request, &response).ok());
  const std::vector<SpanFacts> spans = Spans();
  ASSERT_EQ(spans.size(), 1);
  const SpanFacts& span = spans[0];
  EXPECT_EQ(span.span.context, *Answered(context));
  EXPECT_EQ(ToHex(span.span.parent), kParent);
  EXPECT_EQ(span.method, Method::kReduce);
  EXPECT_FALSE(span.is_item);
  EXPECT_EQ(span.code, absl::StatusCode::kOk);
  EXPECT_EQ(span.request_id, "an id");
  EXPECT_EQ(span.device, response.device());
  ASSERT_TRUE(span.tensor.has_value());
  EXPECT_EQ(span.tensor->ops, "sum");
  EXPECT_EQ(span.tensor->dtype, "i64");
  EXPECT_EQ(span.tensor->bytes, 8);
  ASSERT_TRUE(span.stages.has_value());
  EXPECT_EQ((*span.stages)[static_cast<std::size_t>(Stage::kQueue)].count(),
            response.timing().queue_ns());
  EXPECT_GE(span.total.count(), response.timing().total_ns());
}

TEST_F(SpansTest, ItemsAreWithinTheirStream) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  const auto stream = stub_->ReduceMany(&context);
  v1::ReduceManyResponse answer;
  stream->Write(Request());
  ASSERT_TRUE(stream->Read(&answer));
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  const std::vector<SpanFacts> spans = Spans();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_TRUE(spans[0].is_item);
  EXPECT_TRUE(spans[0].stages.has_value());
  EXPECT_FALSE(spans[1].is_item);
  EXPECT_FALSE(spans[1].stages.has_value());
  EXPECT_EQ(spans[0].span.parent, spans[1].span.context.span_id);
  EXPECT_EQ(ToHex(spans[1].span.parent), kParent);
}

TEST_F(SpansTest, ARefusalAndACallWithoutATensorHaveASpanWithoutStages) {
  grpc::ClientContext refused;
  refused.AddMetadata("traceparent", kTraceparent);
  v1::ReduceRequest wrong = Request();
  wrong.clear_ops();
  v1::ReduceResponse response;
  EXPECT_FALSE(stub_->Reduce(&refused, wrong, &response).ok());
  grpc::ClientContext asked;
  asked.AddMetadata("traceparent", kTraceparent);
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(stub_->GetServerInfo(&asked, {}, &info).ok());
  const std::vector<SpanFacts> spans = Spans();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_EQ(spans[0].code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spans[1].method, Method::kGetServerInfo);
  EXPECT_EQ(spans[1].span.context, *Answered(asked));
  for (const SpanFacts& span : spans) EXPECT_FALSE(span.stages.has_value());
}

TEST_F(SpansTest, OneThatIsNotSampledIsNotHandedOn) {
  for (const std::string& text : {std::string(), kTraceparent.substr(0, 53) + "00"}) {
    grpc::ClientContext context;
    if (!text.empty()) context.AddMetadata("traceparent", text);
    v1::ReduceResponse response;
    ASSERT_TRUE(stub_->Reduce(&context, Request(), &response).ok());
  }
  EXPECT_TRUE(Spans().empty());
}

// Whom the server does not know, before anything of the call is read.
class TraceOfStrangersTest : public TraceTest {
 protected:
  void SetUp() override {
    callers_ = *CallerTable::Parse(
        "caller=a token-sha256=" + std::string(64, '0') + " scopes=reduce\n", {});
    TraceTest::SetUp();
  }
};

TEST_F(TraceOfStrangersTest, ARefusedCallHasItsSpanToo) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  v1::ReduceResponse response;
  EXPECT_EQ(stub_->Reduce(&context, Request(), &response).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  ExpectTraced(Lines().at(0), context);
}

TEST_F(TraceOfStrangersTest, ARefusedStreamHasItsSpanToo) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraceparent);
  const auto stream = stub_->ReduceMany(&context);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  ExpectTraced(Lines().at(0), context);
}

}  // namespace
}  // namespace warpfold
