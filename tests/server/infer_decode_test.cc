// What a ModelInfer asks becomes a RequestSpec, or is refused with the field's name.
#include "server/frontend/kserve/infer_decode.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold::kserve {
namespace {

using inference::InferParameter;
using inference::ModelInferRequest;

InferParameter Bool(bool value) {
  InferParameter parameter;
  parameter.set_bool_param(value);
  return parameter;
}

InferParameter Int(std::int64_t value) {
  InferParameter parameter;
  parameter.set_int64_param(value);
  return parameter;
}

InferParameter Double(double value) {
  InferParameter parameter;
  parameter.set_double_param(value);
  return parameter;
}

InferParameter String(const std::string& value) {
  InferParameter parameter;
  parameter.set_string_param(value);
  return parameter;
}

ModelInferRequest Request() {
  ModelInferRequest request;
  ModelInferRequest::InferInputTensor* input = request.add_inputs();
  input->set_name("INPUT");
  input->set_datatype("FP32");
  input->add_shape(2);
  input->add_shape(3);
  return request;
}

struct DecodedInfer {
  absl::StatusOr<OutputPlaces> places;
  RequestSpec spec;
};

DecodedInfer Decode(const ModelInferRequest& request, const char* model = "describe") {
  RequestSpec spec;
  absl::StatusOr<OutputPlaces> places = DecodeInfer(request, **FindModel(model, "", ""), &spec);
  return {std::move(places), std::move(spec)};
}

DecodedInfer WithParameter(const std::string& name, const InferParameter& value) {
  ModelInferRequest request = Request();
  (*request.mutable_parameters())[name] = value;
  return Decode(request);
}

void ExpectRefusal(const DecodedInfer& decoded, const std::string& start) {
  EXPECT_TRUE(absl::IsInvalidArgument(decoded.places.status()));
  EXPECT_EQ(std::string(decoded.places.status().message()).substr(0, start.size()), start);
}

TEST(InferDecodeTest, ATensorAndAModelsOpsAreTaken) {
  const DecodedInfer sum = Decode(Request(), "sum");
  ASSERT_TRUE(sum.places.ok()) << sum.places.status();
  EXPECT_EQ(sum.spec.reduce.dtype, DType::kF32);
  EXPECT_EQ(sum.spec.reduce.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(sum.spec.reduce.ops, std::vector<Op>{Op::kSum});
  EXPECT_FALSE(sum.spec.reduce.keepdims);
  EXPECT_TRUE(sum.spec.reduce.axes.empty());
  EXPECT_TRUE(std::holds_alternative<InMessage>(sum.spec.source));
  ASSERT_EQ(sum.places->size(), 1U);
  EXPECT_FALSE(sum.places->front().has_value());
}

TEST(InferDecodeTest, ParametersBecomeFields) {
  for (const bool keepdims : {false, true}) {
    const DecodedInfer kept = WithParameter("keepdims", Bool(keepdims));
    EXPECT_TRUE(kept.places.ok()) << kept.places.status();
    EXPECT_EQ(kept.spec.reduce.keepdims, keepdims);
  }
  EXPECT_EQ(WithParameter("correction", Int(3)).spec.reduce.correction, 3);
  EXPECT_EQ(WithParameter("correction", Double(1.5)).spec.reduce.correction, 1.5);
  EXPECT_EQ(WithParameter("nan_policy", String("omit")).spec.reduce.nan_policy, NanPolicy::kOmit);
  EXPECT_EQ(WithParameter("nan_policy", String("propagate")).spec.reduce.nan_policy,
            NanPolicy::kPropagate);
  EXPECT_TRUE(WithParameter("triton_enable_empty_final_response", Bool(true)).places.ok());
  const DecodedInfer one = WithParameter("axis", Int(-1));
  EXPECT_EQ(one.spec.reduce.axes, std::vector<std::int64_t>{-1});
  const DecodedInfer two = WithParameter("axis", String("0,-1"));
  EXPECT_EQ(two.spec.reduce.axes, (std::vector<std::int64_t>{0, -1}));
}

TEST(InferDecodeTest, ParametersOfAnotherTypeOrNameAreRefused) {
  ExpectRefusal(WithParameter("keepdims", Int(1)), "parameters.keepdims: is not a bool");
  ExpectRefusal(WithParameter("correction", Bool(true)),
                "parameters.correction: is neither an int64 nor a double");
  ExpectRefusal(WithParameter("correction", Int((std::int64_t{1} << 53) + 1)),
                "parameters.correction: is not between -2^53 and 2^53");
  ExpectRefusal(WithParameter("correction", Double(HUGE_VAL)),
                "parameters.correction: is not a finite number");
  ExpectRefusal(WithParameter("nan_policy", String("skip")), "parameters.nan_policy: is neither");
  ExpectRefusal(WithParameter("nan_policy", Bool(true)), "parameters.nan_policy: is neither");
  ExpectRefusal(WithParameter("axis", Bool(true)), "parameters.axis: is neither");
  ExpectRefusal(WithParameter("axis", String("0,,1")), "parameters.axis: '0,,1' is not a list");
  ExpectRefusal(WithParameter("triton_enable_empty_final_response", Int(1)),
                "parameters.triton_enable_empty_final_response: is not a bool");
  ExpectRefusal(WithParameter("axes", Int(0)), "parameters: 'axes' is unknown");
}

TEST(InferDecodeTest, OneInputByTheNameOfInputIsTaken) {
  ModelInferRequest none = Request();
  none.clear_inputs();
  ExpectRefusal(Decode(none), "inputs: a model has one, INPUT; there are 0");
  ModelInferRequest other = Request();
  other.mutable_inputs(0)->set_name("X");
  ExpectRefusal(Decode(other), "inputs.name: 'X' is not INPUT");
}

TEST(InferDecodeTest, OutputsAreThoseThatAreNamedInTheirOrder) {
  ModelInferRequest request = Request();
  request.add_outputs()->set_name("MAX");
  request.add_outputs()->set_name("SUM");
  const DecodedInfer both = Decode(request);
  EXPECT_EQ(both.spec.reduce.ops, (std::vector<Op>{Op::kMax, Op::kSum}));
  ASSERT_TRUE(both.places.ok()) << both.places.status();
  EXPECT_EQ(both.places->size(), 2U);
  request.add_outputs()->set_name("PROD");
  ExpectRefusal(Decode(request), "outputs.name: describe has no output 'PROD'");
}

TEST(InferDecodeTest, RegionsAreTakenWhole) {
  ModelInferRequest request = Request();
  auto& in = *request.mutable_inputs(0)->mutable_parameters();
  in["shared_memory_region"] = String("r");
  ExpectRefusal(Decode(request), "inputs.parameters: shared_memory_region and");
  in["shared_memory_byte_size"] = Int(24);
  in["shared_memory_offset"] = Int(8);
  auto* output = request.add_outputs();
  output->set_name("MAX");
  (*output->mutable_parameters())["shared_memory_region"] = String("o");
  ExpectRefusal(Decode(request), "outputs.parameters: shared_memory_region and");
  (*output->mutable_parameters())["shared_memory_byte_size"] = Int(4);
  const DecodedInfer decoded = Decode(request);
  ASSERT_TRUE(decoded.places.ok()) << decoded.places.status();
  const auto& source = std::get<InRegion>(decoded.spec.source);
  EXPECT_EQ(source.name, "r");
  EXPECT_EQ(source.offset_bytes, 8);
  EXPECT_EQ(source.size_bytes, 24);
  ASSERT_TRUE(decoded.places->front().has_value());
  EXPECT_EQ(decoded.places->front()->name, "o");
  EXPECT_EQ(decoded.places->front()->size_bytes, 4);

  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectRefusal(Decode(request), "inputs.contents: the input is in shared memory");
  request.mutable_inputs(0)->clear_contents();
  in["shared_memory_offset"] = String("8");
  ExpectRefusal(Decode(request), "inputs.parameters: 'shared_memory_offset' is unknown");
}

}  // namespace
}  // namespace warpfold::kserve
