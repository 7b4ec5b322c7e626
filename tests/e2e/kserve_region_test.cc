// The Open Inference Protocol's system shared memory on the real server: inputs and outputs in
// regions.
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/inference_client.h"
#include "tests/e2e/region_fixture.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

void SetRegion(Parameters& parameters, const std::string& region, std::int64_t size,
               std::int64_t offset = 0) {
  parameters["shared_memory_region"].set_string_param(region);
  parameters["shared_memory_byte_size"].set_int64_param(size);
  if (offset != 0) parameters["shared_memory_offset"].set_int64_param(offset);
}

class KServeRegionTest : public RegionFixture {
 protected:
  static void SetUpTestSuite() {
    StartServer({std::string("--shared-memory-prefix=") + ShmSegment::kPrefix});
  }
  void SetUp() override {
    RegionFixture::SetUp();
    inference_ = std::make_unique<InferenceClient>(client().channel());
  }
  InferenceClient& inference() { return *inference_; }

  grpc::Status RegisterSystem(const std::string& name, const std::string& key, std::uint64_t offset,
                              std::uint64_t size) {
    inference::SystemSharedMemoryRegisterRequest request;
    request.set_name(name);
    request.set_key(key);
    request.set_offset(offset);
    request.set_byte_size(size);
    inference::SystemSharedMemoryRegisterResponse response;
    return inference().Call(&Stub::SystemSharedMemoryRegister, request, &response);
  }
  // Of `count` FP32 in `region`.
  static ModelInferRequest Ask(const std::string& model, const std::string& region,
                               std::int64_t count, std::int64_t offset = 0) {
    ModelInferRequest request = Raw(model, "FP32", {count}, "");
    request.clear_raw_input_contents();
    SetRegion(*request.mutable_inputs(0)->mutable_parameters(), region, count * 4, offset);
    return request;
  }
  static Parameters& AddOutput(ModelInferRequest& request, const std::string& name) {
    request.add_outputs()->set_name(name);
    return *request.mutable_outputs(request.outputs_size() - 1)->mutable_parameters();
  }
  void ExpectRefused(const ModelInferRequest& request, StatusCode code, const std::string& field) {
    ModelInferResponse response;
    ExpectStatus(inference().Infer(request, &response), code, field);
  }

 private:
  std::unique_ptr<InferenceClient> inference_;
};

TEST_F(KServeRegionTest, InputsAndOutputsInRegions) {
  const ShmSegment segment(F32Ones(1000).data());
  const ShmSegment outputs(std::string(4096, 'x'));
  ASSERT_TRUE(RegisterSystem("in", segment.key(), 0, 4000).ok());
  ASSERT_TRUE(RegisterSystem("out", outputs.key(), 1024, 1024).ok());
  ModelInferRequest request = Ask("describe", "in", 900, 400);
  SetRegion(AddOutput(request, "SUM"), "out", 4);
  AddOutput(request, "MAX");
  SetRegion(AddOutput(request, "NAN_COUNT"), "out", 100, 8);
  ModelInferResponse response;
  const grpc::Status status = inference().Infer(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(OutputNames(response), "SUM MAX NAN_COUNT ");
  ASSERT_EQ(response.raw_output_contents_size(), 3) << "one for each output";
  EXPECT_EQ(response.raw_output_contents(0), "");
  EXPECT_EQ(FloatOf(response, 1), 1.0F);
  EXPECT_EQ(response.raw_output_contents(2), "");
  EXPECT_EQ(response.outputs(0).parameters().at("shared_memory_region").string_param(), "out");
  EXPECT_EQ(response.outputs(2).parameters().at("shared_memory_offset").int64_param(), 8);
  EXPECT_EQ(response.outputs(2).parameters().at("shared_memory_byte_size").int64_param(), 8);
  EXPECT_TRUE(response.outputs(1).parameters().empty());
  const float sum = 900;
  EXPECT_EQ(outputs.Read(20, 1024), std::string(reinterpret_cast<const char*>(&sum), 4) + "xxxx" +
                                        std::string(8, '\0') + "xxxx");
  EXPECT_EQ(outputs.Read(4, 1020), "xxxx");
}

TEST_F(KServeRegionTest, AStreamTakesRegionsToo) {
  const ShmSegment segment(F32Ones(100).data() + "xxxx");
  ASSERT_TRUE(RegisterSystem("r", segment.key(), 0, 404).ok());
  grpc::ClientContext context;
  const auto stream = inference().stub().ModelStreamInfer(&context);
  ModelInferRequest request = Ask("sum", "r", 100);
  SetRegion(AddOutput(request, "SUM"), "r", 4, 400);
  stream->Write(request);
  stream->Write(Ask("sum", "none", 100));
  stream->WritesDone();
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_EQ(answer.infer_response().raw_output_contents(0), "");
  const float sum = 100;
  EXPECT_EQ(segment.Read(4, 400), std::string(reinterpret_cast<const char*>(&sum), 4));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message().rfind("inputs.parameters.shared_memory_region: ", 0), 0U);
  EXPECT_FALSE(stream->Read(&answer));
}

TEST_F(KServeRegionTest, StatusAndUnregister) {
  const ShmSegment segment(std::string(400, '\0'));
  ASSERT_TRUE(RegisterSystem("a", segment.key(), 8, 80).ok());
  ASSERT_TRUE(RegisterSystem("b", segment.key(), 0, 400).ok());
  ExpectStatus(RegisterSystem("a", segment.key(), 0, 8), StatusCode::ALREADY_EXISTS, "name: ");
  inference::SystemSharedMemoryStatusRequest named;
  named.set_name("a");
  inference::SystemSharedMemoryStatusResponse status;
  ASSERT_TRUE(inference().Call(&Stub::SystemSharedMemoryStatus, named, &status).ok());
  ASSERT_EQ(status.regions_size(), 1);
  EXPECT_EQ(status.regions().at("a").name(), "a");
  EXPECT_EQ(status.regions().at("a").key(), segment.key());
  EXPECT_EQ(status.regions().at("a").offset(), 8);
  EXPECT_EQ(status.regions().at("a").byte_size(), 80);
  inference::SystemSharedMemoryUnregisterRequest end;
  end.set_name("a");
  inference::SystemSharedMemoryUnregisterResponse ended;
  EXPECT_TRUE(inference().Call(&Stub::SystemSharedMemoryUnregister, end, &ended).ok());
  EXPECT_TRUE(inference().Call(&Stub::SystemSharedMemoryUnregister, end, &ended).ok());
  EXPECT_EQ(inference().Call(&Stub::SystemSharedMemoryStatus, named, &status).error_code(),
            StatusCode::NOT_FOUND);
  ASSERT_TRUE(inference().Call(&Stub::SystemSharedMemoryStatus, {}, &status).ok());
  EXPECT_EQ(status.regions_size(), 1);
  EXPECT_TRUE(inference().Call(&Stub::SystemSharedMemoryUnregister, {}, &ended).ok());
  ASSERT_TRUE(inference().Call(&Stub::SystemSharedMemoryStatus, {}, &status).ok());
  EXPECT_EQ(status.regions_size(), 0);
}

TEST_F(KServeRegionTest, ARefusedRequestHasWrittenNoOutput) {
  const ShmSegment segment(F32Ones(100).data());
  const ShmSegment outputs(std::string(64, 'x'));
  ASSERT_TRUE(RegisterSystem("in", segment.key(), 0, 400).ok());
  ASSERT_TRUE(RegisterSystem("out", outputs.key(), 0, 64).ok());
  ModelInferRequest request = Ask("describe", "in", 100);
  SetRegion(AddOutput(request, "SUM"), "out", 4);
  SetRegion(AddOutput(request, "NAN_COUNT"), "out", 7, 8);  // of the 8 bytes that it has
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT,
                "outputs.parameters.shared_memory_byte_size: ");
  EXPECT_EQ(outputs.Read(64, 0), std::string(64, 'x'));
}

TEST_F(KServeRegionTest, WhatIsRefusedNamesTheProtocolsFields) {
  const ShmSegment segment(F32Ones(100).data());
  ExpectStatus(RegisterSystem("r", "/other", 0, 8), StatusCode::PERMISSION_DENIED, "key: ");
  ExpectStatus(RegisterSystem("r", segment.key(), 401, 1), StatusCode::INVALID_ARGUMENT,
               "offset: ");
  ExpectStatus(RegisterSystem("r", segment.key(), std::uint64_t{1} << 63, 1),
               StatusCode::INVALID_ARGUMENT, "offset: ");
  ExpectStatus(RegisterSystem("r", segment.key(), 8, 400), StatusCode::INVALID_ARGUMENT,
               "byte_size: ");
  ASSERT_TRUE(RegisterSystem("r", segment.key(), 0, 400).ok());
  ExpectRefused(Ask("sum", "none", 100), StatusCode::NOT_FOUND,
                "inputs.parameters.shared_memory_region: ");
  ExpectRefused(Ask("sum", "r", 100, 4), StatusCode::INVALID_ARGUMENT,
                "inputs.parameters.shared_memory_byte_size: ");
  ExpectRefused(Ask("sum", "r", 100, -4), StatusCode::INVALID_ARGUMENT,
                "inputs.parameters.shared_memory_offset: ");
  ModelInferRequest request = Ask("sum", "r", 100);
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_byte_size"].set_int64_param(
      396);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT,
                "inputs.parameters.shared_memory_byte_size: ");
  request = Ask("sum", "r", 100);
  request.mutable_inputs(0)->mutable_parameters()->erase("shared_memory_byte_size");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.parameters: ");
  request = Ask("sum", "r", 100);
  request.add_raw_input_contents(std::string(400, '\0'));
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "raw_input_contents: ");
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "inputs.contents: ");
}

TEST_F(KServeRegionTest, OutputsThatDoNotFitOrHaveNoPlace) {
  const ShmSegment segment(F32Ones(100).data());
  ASSERT_TRUE(RegisterSystem("r", segment.key(), 0, 400).ok());
  const auto output_in = [](const std::string& region, std::int64_t size, std::int64_t offset) {
    ModelInferRequest request = Ask("sum", "r", 100);
    SetRegion(AddOutput(request, "SUM"), region, size, offset);
    return request;
  };
  ExpectRefused(output_in("none", 4, 0), StatusCode::NOT_FOUND,
                "outputs.parameters.shared_memory_region: ");
  ExpectRefused(output_in("r", 4, 397), StatusCode::INVALID_ARGUMENT,
                "outputs.parameters.shared_memory_byte_size: ");
  ExpectRefused(output_in("r", 3, 0), StatusCode::INVALID_ARGUMENT,
                "outputs.parameters.shared_memory_byte_size: ");
  EXPECT_EQ(Sum("r", 100), 100.0F) << "nothing was written";
  ModelInferRequest typed = RawFloats("sum", {1, 2});
  SetRegion(AddOutput(typed, "SUM"), "r", 4);
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(typed, &response).ok());
  EXPECT_EQ(Sum("r", 100), 102.0F);
  segment.Truncate(100);
  ExpectRefused(typed, StatusCode::FAILED_PRECONDITION,
                "outputs.parameters.shared_memory_region: ");
}

TEST_F(KServeRegionTest, TheExtensionIsNamedWhereItIsOn) {
  inference::ServerMetadataResponse metadata;
  ASSERT_TRUE(inference().Call(&Stub::ServerMetadata, {}, &metadata).ok());
  EXPECT_EQ(metadata.extensions(metadata.extensions_size() - 1), "system_shared_memory");
}

}  // namespace
}  // namespace warpfold::e2e
