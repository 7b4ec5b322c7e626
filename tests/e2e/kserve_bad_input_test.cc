// Bad input in the Open Inference Protocol's terms: each kind gets its own status that names the
// field, leaves nothing behind, and the server goes on (see TearDown).
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "inference/grpc_service.grpc.pb.h"
#include "tests/e2e/inference_client.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;
using inference::ModelInferRequest;

class KServeBadInputTest : public ServedTest {
 protected:
  static void SetUpTestSuite() {
    StartServer(
        {"--max-message-bytes=16MiB", "--max-tensor-bytes=8MiB", "--max-result-bytes=64KiB"});
  }

  void ExpectRefused(const ModelInferRequest& request, StatusCode code, const std::string& start) {
    inference::ModelInferResponse response;
    ExpectStatus(InferenceClient(client().channel()).Infer(request, &response), code, start);
  }

  void ExpectBytesRefused(const std::string& bytes, StatusCode code, const std::string& start) {
    ExpectStatus(
        RawCall(client().channel(), "/inference.GRPCInferenceService/ModelInfer", bytes).status,
        code, start);
  }

  static void ExpectStatus(const grpc::Status& status, StatusCode code, const std::string& start) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(status.error_message().substr(0, start.size()), start);
  }

  static ModelInferRequest Good() { return RawFloats("sum", {1, 2, 3}); }
  static inference::InferParameter& Parameter(ModelInferRequest& request, const char* name) {
    return (*request.mutable_parameters())[name];
  }
};

TEST_F(KServeBadInputTest, AnUnknownModelOrVersionIsNotFound) {
  ModelInferRequest request = Good();
  request.set_model_name("resnet");
  ExpectRefused(request, StatusCode::NOT_FOUND, "model_name: there is no model 'resnet'");
  request.set_model_name("\n\u00e9" + std::string(50'000, 'x'));
  ExpectRefused(request, StatusCode::NOT_FOUND, "model_name: there is no model '\\n\\xc3\\xa9xxx");
  request = Good();
  for (const char* version : {"2", "v1", "-1"}) {
    request.set_model_version(version);
    ExpectRefused(request, StatusCode::NOT_FOUND, "model_version: ");
  }
  InferenceClient inference(client().channel());
  inference::ModelMetadataRequest about;
  about.set_name("resnet");
  inference::ModelMetadataResponse metadata;
  ExpectStatus(inference.Call(&Stub::ModelMetadata, about, &metadata), StatusCode::NOT_FOUND,
               "name: ");
  inference::ModelStatisticsRequest about_statistics;
  about_statistics.set_name("sum");
  about_statistics.set_version("7");
  inference::ModelStatisticsResponse statistics;
  ExpectStatus(inference.Call(&Stub::ModelStatistics, about_statistics, &statistics),
               StatusCode::NOT_FOUND, "version: ");
}

TEST_F(KServeBadInputTest, NotExactlyOneInputNamesInputs) {
  ModelInferRequest request = Good();
  *request.add_inputs() = request.inputs(0);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs: ");
  request.clear_inputs();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs: ");
}

TEST_F(KServeBadInputTest, AnotherInputsNameNamesIt) {
  ModelInferRequest request = Good();
  request.mutable_inputs(0)->set_name("INPUT0");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.name: 'INPUT0'");
}

TEST_F(KServeBadInputTest, DatatypesThatAreNoNumbersNameTheDatatype) {
  ModelInferRequest request = Good();
  for (const char* datatype : {"BYTES", "fp32", "TYPE_FP32", "INT4", ""}) {
    request.mutable_inputs(0)->set_datatype(datatype);
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.datatype: ");
  }
}

TEST_F(KServeBadInputTest, TheWrongByteCountNamesRawInputContents) {
  ModelInferRequest request = Good();
  request.mutable_raw_input_contents(0)->pop_back();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "raw_input_contents: has 11 bytes");
  request.set_raw_input_contents(0, std::string(13, 'x'));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "raw_input_contents: has 13 bytes");
  request.clear_raw_input_contents();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "raw_input_contents: ");
  request = Good();
  request.add_raw_input_contents("");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "raw_input_contents: comes twice");
}

TEST_F(KServeBadInputTest, ShapesThatCannotBeNameTheShape) {
  ModelInferRequest request = Good();
  const std::int64_t huge = std::int64_t{1} << 40;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1}, {huge, huge}, std::vector<std::int64_t>(33, 1)}) {
    request.mutable_inputs(0)->mutable_shape()->Assign(shape.begin(), shape.end());
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.shape: ");
  }
}

TEST_F(KServeBadInputTest, LimitsAreThoseOfTheServer) {
  ModelInferRequest request = Good();
  request.mutable_inputs(0)->set_shape(0, 4 << 20);
  ExpectRefused(request, StatusCode::RESOURCE_EXHAUSTED, "inputs: ");
  request = Raw("sum", "INT8", {0, 16384}, "");
  Parameter(request, "axis").set_int64_param(0);
  ExpectRefused(request, StatusCode::RESOURCE_EXHAUSTED, "inputs: ");
  request = Good();
  request.set_id(std::string(257, 'x'));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "id: ");
}

TEST_F(KServeBadInputTest, UnknownOrDoubleOutputsNameThem) {
  ModelInferRequest request = Good();
  request.add_outputs()->set_name("MEAN");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "outputs.name: sum has no output 'MEAN'");
  request.mutable_outputs(0)->set_name("SUM");
  request.add_outputs()->set_name("SUM");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "outputs[1]: sum is listed twice");
}

TEST_F(KServeBadInputTest, OpsWithoutAnAnswerNameTheOutputs) {
  ExpectRefused(Raw("max", "FP32", {0}, ""), StatusCode::INVALID_ARGUMENT, "outputs[0]: ");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &most, 8);
  std::memcpy(bytes.data() + 8, &most, 8);
  ExpectRefused(Raw("sum", "INT64", {2}, bytes), StatusCode::OUT_OF_RANGE,
                "outputs: the sum of output element 0 is 18446744073709551614");
}

TEST_F(KServeBadInputTest, AnUnknownParameterIsNamed) {
  for (const char* name : {"axes", "sequence_id", "priority", "timeout", "triton_other"}) {
    ModelInferRequest request = Good();
    Parameter(request, name).set_int64_param(1);
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT,
                  "parameters: '" + std::string(name) + "' is unknown");
  }
}

TEST_F(KServeBadInputTest, AParameterOfTheWrongTypeOrValueNamesItself) {
  const auto expect_refused = [this](const char* name, auto set) {
    ModelInferRequest request = Good();
    set(Parameter(request, name));
    ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "parameters." + std::string(name) + ": ");
  };
  using Value = inference::InferParameter;
  expect_refused("axis", [](Value& v) { v.set_bool_param(true); });
  expect_refused("axis", [](Value& v) { v.set_double_param(0); });
  expect_refused("axis", [](Value&) {});
  for (const char* text : {"", "0,", "zero", "[0]", "0 1", "99999999999999999999"}) {
    expect_refused("axis", [text](Value& v) { v.set_string_param(text); });
  }
  expect_refused("axis", [](Value& v) { v.set_int64_param(1); });
  expect_refused("axis", [](Value& v) { v.set_string_param("0,-1"); });
  expect_refused("keepdims", [](Value& v) { v.set_int64_param(1); });
  expect_refused("correction", [](Value& v) { v.set_string_param("1"); });
  expect_refused("correction", [](Value& v) { v.set_double_param(HUGE_VAL); });
  expect_refused("nan_policy", [](Value& v) { v.set_string_param("OMIT"); });
  expect_refused("nan_policy", [](Value& v) { v.set_bool_param(true); });
  expect_refused("triton_enable_empty_final_response", [](Value& v) { v.set_int64_param(1); });
}

TEST_F(KServeBadInputTest, TensorParametersAreRefusedByName) {
  ModelInferRequest request = Good();
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.parameters: shared_memory_region");
  request = Good();
  request.add_outputs()->set_name("SUM");
  (*request.mutable_outputs(0)->mutable_parameters())["shared_memory_offset"].set_int64_param(1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "outputs.parameters: shared_memory_region");
  request.mutable_outputs(0)->clear_parameters();
  (*request.mutable_outputs(0)->mutable_parameters())["classification"].set_int64_param(3);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "outputs.parameters: 'classification'");
}

TEST_F(KServeBadInputTest, TypedContentsThatDoNotFitNameThem) {
  ModelInferRequest request = Good();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: raw_input_contents");
  request.clear_raw_input_contents();
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: has 4 bytes");
  request.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: elements of FP32");
  request.mutable_inputs(0)->set_datatype("INT8");
  request.mutable_inputs(0)->mutable_contents()->clear_fp32_contents();
  request.mutable_inputs(0)->mutable_contents()->set_int_contents(0, 128);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: 128 does not fit in INT8");
  request.mutable_inputs(0)->set_datatype("BF16");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: BF16 travels in");
}

TEST_F(KServeBadInputTest, LargeTypedContentsAreSentToRawInputContents) {
  ModelInferRequest request = Raw("sum", "FP32", {2 << 20}, "");
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents()->Resize(2 << 20, 1);
  ExpectRefused(request, StatusCode::RESOURCE_EXHAUSTED, "message: what is not raw_input_contents");
}

TEST_F(KServeBadInputTest, BytesThatAreNoMessageAreRefused) {
  ExpectBytesRefused("\xff\xff\xff", StatusCode::INVALID_ARGUMENT, "message: ");
  ExpectBytesRefused("\x3a\x7f", StatusCode::INVALID_ARGUMENT, "raw_input_contents: ");
  ExpectBytesRefused("\x38\x01", StatusCode::INVALID_ARGUMENT, "raw_input_contents: ");
  ExpectBytesRefused("", StatusCode::NOT_FOUND, "model_name: ");
}

TEST_F(KServeBadInputTest, AnItemThatIsNoMessageIsAnswered) {
  const RawReply reply =
      RawCall(client().channel(), "/inference.GRPCInferenceService/ModelStreamInfer", "\xff\xff");
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(answer.ParseFromString(reply.bytes));
  EXPECT_EQ(answer.error_message(), "message: truncated or malformed protobuf");
}

TEST_F(KServeBadInputTest, AStreamGoesOnAfterAnItemThatFails) {
  grpc::ClientContext context;
  InferenceClient inference(client().channel());
  const auto stream = inference.stub().ModelStreamInfer(&context);
  ModelInferRequest request = Good();
  request.set_model_name("resnet");
  request.set_id("wrong");
  ASSERT_TRUE(stream->Write(request));
  request = Good();
  request.set_id("right");
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "model_name: there is no model 'resnet'");
  EXPECT_EQ(answer.infer_response().id(), "wrong");
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_EQ(FloatOf(answer.infer_response(), 0), 6);
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace warpfold::e2e
