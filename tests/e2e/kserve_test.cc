// The Open Inference Protocol on the real server: the same bits as warpfold.v1 gives, and what
// clients of the protocol trip over.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "inference/grpc_service.grpc.pb.h"
#include "tests/contract/values_of.h"
#include "tests/e2e/inference_client.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

using grpc::StatusCode;
using inference::ModelInferRequest;
using inference::ModelInferResponse;

class KServeTest : public ServedTest {
 protected:
  void SetUp() override {
    ServedTest::SetUp();
    inference_ = std::make_unique<InferenceClient>(client().channel());
  }
  InferenceClient& inference() { return *inference_; }

 private:
  std::unique_ptr<InferenceClient> inference_;
};

struct Datatype {
  v1::DType ours;
  const char* theirs;
  std::size_t bytes;
};
constexpr Datatype kDatatypes[] = {
    {v1::DTYPE_BOOL, "BOOL", 1},  {v1::DTYPE_I8, "INT8", 1},    {v1::DTYPE_U8, "UINT8", 1},
    {v1::DTYPE_I16, "INT16", 2},  {v1::DTYPE_U16, "UINT16", 2}, {v1::DTYPE_I32, "INT32", 4},
    {v1::DTYPE_U32, "UINT32", 4}, {v1::DTYPE_I64, "INT64", 8},  {v1::DTYPE_U64, "UINT64", 8},
    {v1::DTYPE_F16, "FP16", 2},   {v1::DTYPE_BF16, "BF16", 2},  {v1::DTYPE_F32, "FP32", 4},
    {v1::DTYPE_F64, "FP64", 8}};

const char* NameOf(v1::DType dtype) {
  return std::find_if(std::begin(kDatatypes), std::end(kDatatypes),
                      [dtype](const Datatype& d) { return d.ours == dtype; })
      ->theirs;
}

// Small positive numbers of any type: the low byte of each element but of floats, whose patterns
// are of numbers near 1.
std::string Elements(const Datatype& datatype, std::size_t count) {
  std::mt19937 random(20261121);
  std::string bytes(count * datatype.bytes, '\0');
  const bool is_float = datatype.ours >= v1::DTYPE_F16;
  for (std::size_t i = 0; i < count; ++i) {
    char* element = bytes.data() + i * datatype.bytes;
    if (datatype.ours == v1::DTYPE_BOOL) {
      element[0] = static_cast<char>(random() & 1);
    } else if (is_float) {
      for (std::size_t b = 0; b + 1 < datatype.bytes; ++b) element[b] = static_cast<char>(random());
      element[datatype.bytes - 1] = 0x3f;
    } else {
      element[0] = static_cast<char>(random() % 3);
    }
  }
  return bytes;
}

TEST_F(KServeTest, EveryModelGivesTheBitsOfItsOpForEveryDatatype) {
  for (int number = v1::Op_MIN + 1; number <= v1::Op_MAX; ++number) {
    const v1::Op op = static_cast<v1::Op>(number);
    std::string output = v1::Op_Name(op).substr(3);
    std::string model = output;
    std::transform(model.begin(), model.end(), model.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    for (const Datatype& datatype : kDatatypes) {
      SCOPED_TRACE(model + " of " + datatype.theirs);
      const std::string bytes = Elements(datatype, 6 * 35);
      v1::ReduceRequest ours;
      ValuesOf(ours).mutable_tensor()->set_dtype(datatype.ours);
      ModelInferRequest theirs = Raw(model, datatype.theirs, {6, 35}, bytes);
      for (const std::int64_t length : {6, 35}) ValuesOf(ours).mutable_tensor()->add_shape(length);
      ours.add_ops()->set_op(op);
      ours.add_axes(1);
      ours.set_keepdims(true);
      ours.set_data(bytes);
      (*theirs.mutable_parameters())["axis"].set_int64_param(-1);
      (*theirs.mutable_parameters())["keepdims"].set_bool_param(true);
      v1::ReduceResponse wanted;
      ModelInferResponse got;
      ASSERT_TRUE(client().Reduce(ours, &wanted).ok());
      const grpc::Status status = inference().Infer(theirs, &got);
      ASSERT_TRUE(status.ok()) << status.error_message();
      ASSERT_EQ(got.outputs_size(), 1);
      EXPECT_EQ(got.outputs(0).name(), output);
      EXPECT_EQ(got.outputs(0).datatype(), NameOf(wanted.results(0).tensor().dtype()));
      EXPECT_EQ(
          std::vector<std::int64_t>(got.outputs(0).shape().begin(), got.outputs(0).shape().end()),
          (std::vector<std::int64_t>{6, 1}));
      ASSERT_EQ(got.raw_output_contents_size(), 1);
      EXPECT_EQ(got.raw_output_contents(0), wanted.results(0).data());
    }
  }
}

TEST_F(KServeTest, DescribeAnswersAllItsOutputsOrThoseAskedForInTheirOrder) {
  ModelInferRequest request = RawFloats("describe", {1, 2, 3});
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(OutputNames(response), "SUM MEAN STD MIN MAX L1_NORM L2_NORM NAN_COUNT INF_COUNT ");
  // One entry for each output, and never typed contents: the C++ client indexes them.
  ASSERT_EQ(response.raw_output_contents_size(), response.outputs_size());
  for (const auto& output : response.outputs()) EXPECT_FALSE(output.has_contents());

  for (const char* name : {"MAX", "SUM"}) request.add_outputs()->set_name(name);
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(OutputNames(response), "MAX SUM ");
  EXPECT_EQ(FloatOf(response, 0), 3);
  EXPECT_EQ(FloatOf(response, 1), 6);
}

TEST_F(KServeTest, ParametersReachTheReduction) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ModelInferRequest request = RawFloats("std", {1, 2, nan, 4});
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_TRUE(std::isnan(FloatOf(response, 0)));
  (*request.mutable_parameters())["nan_policy"].set_string_param("omit");
  (*request.mutable_parameters())["correction"].set_int64_param(1);
  (*request.mutable_parameters())["axis"].set_string_param("0");
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(FloatOf(response, 0), std::sqrt(7.0F / 3));
}

TEST_F(KServeTest, TheIdTheModelAndTheVersionComeBack) {
  ModelInferRequest request = RawFloats("sum", {1, 2});
  request.set_model_version("1");
  request.set_id("an id");
  (*request.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(response.model_name(), "sum");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.id(), "an id");
  EXPECT_TRUE(response.parameters().at("triton_final_response").bool_param());
  EXPECT_EQ(response.parameters().at("numerics_version").int64_param(), 1);
}

TEST_F(KServeTest, TypedContentsAreTheSameElements) {
  const auto sum_of = [this](const char* datatype, auto fill) {
    ModelInferRequest request = Raw("sum", datatype, {3}, "");
    request.clear_raw_input_contents();
    fill(*request.mutable_inputs(0)->mutable_contents());
    ModelInferResponse response;
    const grpc::Status status = inference().Infer(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.raw_output_contents_size() == 1 ? response.raw_output_contents(0) : "";
  };
  const auto bytes_of = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  using Contents = inference::InferTensorContents;
  const auto bools = [](Contents& c) {
    for (bool b : {true, false, true}) c.add_bool_contents(b);
  };
  const auto ints = [](Contents& c) {
    for (int i : {-3, 100, 5}) c.add_int_contents(i);
  };
  const auto longs = [](Contents& c) {
    for (int i : {-3, 100, 5}) c.add_int64_contents(i);
  };
  const auto uints = [](Contents& c) {
    for (int i : {3, 200, 5}) c.add_uint_contents(i);
  };
  const auto ulongs = [](Contents& c) {
    for (int i : {3, 200, 5}) c.add_uint64_contents(i);
  };
  const auto floats = [](Contents& c) {
    for (float f : {0.5F, 2.F, 4.F}) c.add_fp32_contents(f);
  };
  const auto doubles = [](Contents& c) {
    for (double f : {0.5, 2., 4.}) c.add_fp64_contents(f);
  };
  EXPECT_EQ(sum_of("BOOL", bools), bytes_of(std::int64_t{2}));
  for (const char* datatype : {"INT8", "INT16", "INT32"}) {
    EXPECT_EQ(sum_of(datatype, ints), bytes_of(std::int64_t{102}));
  }
  EXPECT_EQ(sum_of("INT64", longs), bytes_of(std::int64_t{102}));
  for (const char* datatype : {"UINT8", "UINT16", "UINT32"}) {
    EXPECT_EQ(sum_of(datatype, uints), bytes_of(std::uint64_t{208}));
  }
  EXPECT_EQ(sum_of("UINT64", ulongs), bytes_of(std::uint64_t{208}));
  EXPECT_EQ(sum_of("FP32", floats), bytes_of(6.5F));
  EXPECT_EQ(sum_of("FP64", doubles), bytes_of(6.5));
}

TEST_F(KServeTest, AnEmptyTensorNeedsNoContents) {
  ModelInferRequest request = Raw("sum", "FP32", {0}, "");
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(FloatOf(response, 0), 0);
  request.clear_raw_input_contents();
  ASSERT_TRUE(inference().Infer(request, &response).ok());
  EXPECT_EQ(FloatOf(response, 0), 0);
}

TEST_F(KServeTest, MetadataAndConfigurationAreWhatPerfAnalyzerReads) {
  inference::ServerMetadataResponse server;
  ASSERT_TRUE(inference().Call(&Stub::ServerMetadata, {}, &server).ok());
  EXPECT_EQ(server.name(), "warpfold");
  EXPECT_EQ(std::count(server.extensions().begin(), server.extensions().end(), "statistics"), 1);

  inference::ModelMetadataRequest about_model;
  about_model.set_name("count_nonzero");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(inference().Call(&Stub::ModelMetadata, about_model, &metadata).ok());
  EXPECT_EQ(metadata.versions(0), "1");  // a number: it is read by stoll
  EXPECT_EQ(metadata.inputs(0).name(), "INPUT");
  EXPECT_EQ(metadata.inputs(0).shape(0), -1);
  EXPECT_EQ(metadata.outputs(0).name(), "COUNT_NONZERO");
  EXPECT_EQ(metadata.outputs(0).datatype(), "INT64");

  inference::ModelConfigRequest about_config;
  about_config.set_name("describe");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(inference().Call(&Stub::ModelConfig, about_config, &config).ok());
  EXPECT_EQ(config.config().max_batch_size(), 0);  // or the first dimension would be a batch
  EXPECT_EQ(config.config().output_size(), 9);
  EXPECT_EQ(config.config().output(7).data_type(), inference::TYPE_INT64);

  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(inference().Call(&Stub::RepositoryIndex, {}, &index).ok());
  EXPECT_EQ(index.models_size(), v1::Op_MAX + 1);
  for (const auto& model : index.models()) EXPECT_EQ(model.state(), "READY");
}

TEST_F(KServeTest, StatisticsCountEveryRequestInEveryStage) {
  const auto statistics = [this] {
    inference::ModelStatisticsRequest request;
    request.set_name("prod");
    inference::ModelStatisticsResponse response;
    EXPECT_TRUE(inference().Call(&Stub::ModelStatistics, request, &response).ok());
    return response.model_stats(0);
  };
  const inference::ModelStatistics before = statistics();
  ModelInferResponse response;
  for (int i = 0; i < 3; ++i) inference().Infer(RawFloats("prod", {1, 2}), &response);
  ModelInferRequest wrong = RawFloats("prod", {1, 2});
  wrong.mutable_inputs(0)->set_name("other");
  inference().Infer(wrong, &response);
  const inference::ModelStatistics after = statistics();
  EXPECT_EQ(after.version(), "1");
  EXPECT_EQ(after.inference_count() - before.inference_count(), 3);
  EXPECT_EQ(after.execution_count(), after.inference_count());
  EXPECT_GT(after.last_inference(), 0);
  const inference::InferStatistics& stages = after.inference_stats();
  EXPECT_EQ(stages.fail().count() - before.inference_stats().fail().count(), 1);
  EXPECT_GT(stages.fail().ns(), 0);
  EXPECT_GT(stages.success().ns(), 0);
  for (const auto* stage : {&stages.success(), &stages.queue(), &stages.compute_input(),
                            &stages.compute_infer(), &stages.compute_output()}) {
    EXPECT_EQ(stage->count(), after.inference_count());
  }
  inference::ModelStatisticsResponse all;
  ASSERT_TRUE(inference().Call(&Stub::ModelStatistics, {}, &all).ok());
  EXPECT_EQ(all.model_stats_size(), v1::Op_MAX + 1);
}

TEST_F(KServeTest, MetricsHaveTheMethodsNames) {
  const auto counted = [](const std::string& series) {
    const double value = MetricValue(MetricsPage(server().metrics_port()), series);
    return std::isnan(value) ? 0 : value;
  };
  const std::string requests =
      "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"ModelInfer\",op=\"l1_norm\"}";
  const std::string calls =
      "grpc_server_handled_total{grpc_code=\"Unimplemented\",grpc_method="
      "\"CudaSharedMemoryRegister\","
      "grpc_service=\"inference.GRPCInferenceService\",grpc_type=\"unary\"}";
  const double requests_before = counted(requests);
  const double calls_before = counted(calls);
  ModelInferResponse response;
  ASSERT_TRUE(inference().Infer(RawFloats("l1_norm", {1, 2}), &response).ok());
  inference::CudaSharedMemoryRegisterResponse registered;
  EXPECT_EQ(inference().Call(&Stub::CudaSharedMemoryRegister, {}, &registered).error_code(),
            StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(counted(requests), requests_before + 1);
  EXPECT_EQ(counted(calls), calls_before + 1);
}

TEST(KServeLogTest, LinesHaveTheMethodAndTheIdOfRefusedRequestsToo) {
  const UniqueTempFolder folder;
  const auto server = ServerProcess::Start({}, folder.Path("log"));
  ASSERT_NE(server, nullptr);
  Client client(*server);
  InferenceClient inference(client.channel());
  ModelInferRequest request = RawFloats("sum", {1, 2});
  request.set_id("served");
  ModelInferResponse response;
  EXPECT_TRUE(inference.Infer(request, &response).ok());
  request.set_id("refused");
  request.set_model_name("resnet");
  EXPECT_FALSE(inference.Infer(request, &response).ok());
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
  std::ifstream file(folder.Path("log"));
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  const std::string method = "method=\"ModelInfer\" code=";
  EXPECT_NE(log.find(method + "\"OK\" request_id=\"served\""), std::string::npos) << log;
  EXPECT_NE(log.find(method + "\"NotFound\" request_id=\"refused\""), std::string::npos) << log;
}

TEST_F(KServeTest, SharedMemorySaysThatItIsNotHere) {
  inference::SystemSharedMemoryStatusRequest named;
  named.set_name("region");
  inference::SystemSharedMemoryStatusResponse regions;
  EXPECT_TRUE(inference().Call(&Stub::SystemSharedMemoryStatus, {}, &regions).ok());
  EXPECT_EQ(regions.regions_size(), 0);
  EXPECT_EQ(inference().Call(&Stub::SystemSharedMemoryStatus, named, &regions).error_code(),
            StatusCode::NOT_FOUND);
  inference::CudaSharedMemoryStatusResponse cuda_regions;
  EXPECT_TRUE(inference().Call(&Stub::CudaSharedMemoryStatus, {}, &cuda_regions).ok());
  // perf_analyzer begins with these.
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  EXPECT_TRUE(inference().Call(&Stub::SystemSharedMemoryUnregister, {}, &unregistered).ok());
  inference::CudaSharedMemoryUnregisterResponse cuda_unregistered;
  EXPECT_TRUE(inference().Call(&Stub::CudaSharedMemoryUnregister, {}, &cuda_unregistered).ok());

  const auto expect_not_here = [this](auto method, auto request, auto response) {
    const grpc::Status status = inference().Call(method, request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
    EXPECT_NE(status.error_message(), "");  // gRPC's own has none
  };
  expect_not_here(&Stub::SystemSharedMemoryRegister, inference::SystemSharedMemoryRegisterRequest(),
                  inference::SystemSharedMemoryRegisterResponse());
  expect_not_here(&Stub::CudaSharedMemoryRegister, inference::CudaSharedMemoryRegisterRequest(),
                  inference::CudaSharedMemoryRegisterResponse());
}

// gRPC itself answers them.
TEST_F(KServeTest, MethodsThatTheContractLeavesOutAreUnimplemented) {
  for (const char* method :
       {"RepositoryModelLoad", "RepositoryModelUnload", "TraceSetting", "LogSettings"}) {
    const std::string path = std::string("/inference.GRPCInferenceService/") + method;
    EXPECT_EQ(RawCall(client().channel(), path, "").status.error_code(), StatusCode::UNIMPLEMENTED)
        << method;
  }
  ModelInferResponse response;
  EXPECT_TRUE(inference().Infer(RawFloats("sum", {1, 2}), &response).ok());
}

}  // namespace
}  // namespace warpfold::e2e
