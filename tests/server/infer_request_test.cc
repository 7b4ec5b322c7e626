// What a ModelInfer asks becomes a header of warpfold.v1, or is refused with the field's name.
#include "server/frontend/kserve/infer_request.h"

#include <cmath>
#include <string>
#include <utility>
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

struct Translated {
  absl::StatusOr<OutputPlaces> places;
  v1::ReduceRequest header;
};

Translated TranslationOf(const ModelInferRequest& request, const char* model = "describe") {
  v1::ReduceRequest header;
  absl::StatusOr<OutputPlaces> places = Translate(request, **FindModel(model, "", ""), &header);
  return {std::move(places), std::move(header)};
}

Translated WithParameter(const std::string& name, const InferParameter& value) {
  ModelInferRequest request = Request();
  (*request.mutable_parameters())[name] = value;
  return TranslationOf(request);
}

// That of its STD.
double CorrectionOf(const Translated& translated) {
  for (const v1::OpSpec& spec : translated.header.ops()) {
    if (spec.op() == v1::OP_STD) return spec.variance().correction();
  }
  return std::nan("");
}

void ExpectRefusal(const Translated& translated, const std::string& start) {
  EXPECT_TRUE(absl::IsInvalidArgument(translated.places.status()));
  EXPECT_EQ(std::string(translated.places.status().message()).substr(0, start.size()), start);
}

TEST(InferRequestTest, ATensorAndAModelsOpsAreTaken) {
  const Translated sum = TranslationOf(Request(), "sum");
  ASSERT_TRUE(sum.places.ok()) << sum.places.status();
  EXPECT_EQ(sum.header.sources(0).tensor().dtype(), v1::DTYPE_F32);
  EXPECT_EQ(std::vector<std::int64_t>(sum.header.sources(0).tensor().shape().begin(),
                                      sum.header.sources(0).tensor().shape().end()),
            (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(sum.header.ops_size(), 1);
  EXPECT_EQ(sum.header.ops(0).op(), v1::OP_SUM);
  EXPECT_FALSE(sum.header.keepdims());
  EXPECT_EQ(sum.header.axes_size(), 0);
  EXPECT_FALSE(sum.header.sources(0).has_memory());
  ASSERT_EQ(sum.places->size(), 1U);
  EXPECT_FALSE(sum.places->front().has_value());
}

TEST(InferRequestTest, ParametersBecomeFields) {
  for (const bool keepdims : {false, true}) {
    const Translated kept = WithParameter("keepdims", Bool(keepdims));
    EXPECT_TRUE(kept.places.ok()) << kept.places.status();
    EXPECT_EQ(kept.header.keepdims(), keepdims);
  }
  EXPECT_EQ(CorrectionOf(WithParameter("correction", Int(3))), 3);
  EXPECT_EQ(CorrectionOf(WithParameter("correction", Double(1.5))), 1.5);
  EXPECT_EQ(WithParameter("nan_policy", String("omit")).header.nan_policy(), v1::NAN_POLICY_OMIT);
  EXPECT_EQ(WithParameter("nan_policy", String("propagate")).header.nan_policy(),
            v1::NAN_POLICY_PROPAGATE);
  EXPECT_TRUE(WithParameter("triton_enable_empty_final_response", Bool(true)).places.ok());
  const Translated one = WithParameter("axis", Int(-1));
  ASSERT_EQ(one.header.axes_size(), 1);
  EXPECT_EQ(one.header.axes(0), -1);
  const Translated two = WithParameter("axis", String("0,-1"));
  ASSERT_EQ(two.header.axes_size(), 2);
  EXPECT_EQ(two.header.axes(0), 0);
  EXPECT_EQ(two.header.axes(1), -1);
}

TEST(InferRequestTest, ParametersOfAnotherTypeOrNameAreRefused) {
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

TEST(InferRequestTest, OneInputByTheNameOfInputIsTaken) {
  ModelInferRequest none = Request();
  none.clear_inputs();
  ExpectRefusal(TranslationOf(none), "inputs: a model has one, INPUT; there are 0");
  ModelInferRequest other = Request();
  other.mutable_inputs(0)->set_name("X");
  ExpectRefusal(TranslationOf(other), "inputs.name: 'X' is not INPUT");
}

TEST(InferRequestTest, OutputsAreThoseThatAreNamedInTheirOrder) {
  ModelInferRequest request = Request();
  request.add_outputs()->set_name("MAX");
  request.add_outputs()->set_name("SUM");
  const Translated both = TranslationOf(request);
  ASSERT_EQ(both.header.ops_size(), 2);
  EXPECT_EQ(both.header.ops(0).op(), v1::OP_MAX);
  EXPECT_EQ(both.header.ops(1).op(), v1::OP_SUM);
  ASSERT_TRUE(both.places.ok()) << both.places.status();
  EXPECT_EQ(both.places->size(), 2U);
  request.add_outputs()->set_name("PROD");
  ExpectRefusal(TranslationOf(request), "outputs.name: describe has no output 'PROD'");
}

TEST(InferRequestTest, RegionsAreTakenWhole) {
  ModelInferRequest request = Request();
  auto& in = *request.mutable_inputs(0)->mutable_parameters();
  in["shared_memory_region"] = String("r");
  ExpectRefusal(TranslationOf(request), "inputs.parameters: shared_memory_region and");
  in["shared_memory_byte_size"] = Int(24);
  in["shared_memory_offset"] = Int(8);
  auto* output = request.add_outputs();
  output->set_name("MAX");
  (*output->mutable_parameters())["shared_memory_region"] = String("o");
  ExpectRefusal(TranslationOf(request), "outputs.parameters: shared_memory_region and");
  (*output->mutable_parameters())["shared_memory_byte_size"] = Int(4);
  const Translated translated = TranslationOf(request);
  ASSERT_TRUE(translated.places.ok()) << translated.places.status();
  EXPECT_EQ(translated.header.sources(0).memory().name(), "r");
  EXPECT_EQ(translated.header.sources(0).memory().offset_bytes(), 8);
  EXPECT_EQ(translated.header.sources(0).memory().size_bytes(), 24);
  ASSERT_TRUE(translated.places->front().has_value());
  EXPECT_EQ(translated.places->front()->name(), "o");
  EXPECT_EQ(translated.places->front()->size_bytes(), 4);

  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectRefusal(TranslationOf(request), "inputs.contents: the input is in shared memory");
  request.mutable_inputs(0)->clear_contents();
  in["shared_memory_offset"] = String("8");
  ExpectRefusal(TranslationOf(request), "inputs.parameters: 'shared_memory_offset' is unknown");
}

}  // namespace
}  // namespace warpfold::kserve
