#include "server/frontend/kserve/infer_request.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/frontend/decode.h"
#include "server/frontend/kserve/datatype.h"

namespace warpfold::kserve {
namespace {

using inference::InferParameter;
using inference::ModelInferRequest;
using Parameters = google::protobuf::Map<std::string, InferParameter>;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status AddAxes(const InferParameter& value, v1::ReduceRequest* header) {
  constexpr absl::string_view kField = "parameters.axis";
  if (value.has_int64_param()) {
    header->add_axes(value.int64_param());
    return absl::OkStatus();
  }
  if (!value.has_string_param()) {
    return Wrong(kField, "is neither an int64 nor a string of integers between commas");
  }
  for (const auto part : absl::StrSplit(value.string_param(), ',')) {
    std::int64_t axis = 0;
    if (!absl::SimpleAtoi(part, &axis)) {
      return Wrong(kField, absl::StrCat(Quoted(value.string_param()),
                                        " is not a list of integers between commas"));
    }
    header->add_axes(axis);
  }
  return absl::OkStatus();
}

absl::Status SetNanPolicy(const InferParameter& value, v1::ReduceRequest* header) {
  const std::string& name = value.string_param();
  if (name == "propagate") {
    header->set_nan_policy(v1::NAN_POLICY_PROPAGATE);
  } else if (name == "omit") {
    header->set_nan_policy(v1::NAN_POLICY_OMIT);
  } else {
    return Wrong("parameters.nan_policy", "is neither 'propagate' nor 'omit'");
  }
  return absl::OkStatus();
}

absl::Status TakeParameter(const std::string& name, const InferParameter& value,
                           v1::ReduceRequest* header) {
  if (name == "axis") return AddAxes(value, header);
  if (name == "nan_policy") return SetNanPolicy(value, header);
  if (name == "keepdims") {
    if (!value.has_bool_param()) return Wrong("parameters.keepdims", "is not a bool");
    header->set_keepdims(value.bool_param());
    return absl::OkStatus();
  }
  if (name == "correction") {
    if (!value.has_int64_param()) return Wrong("parameters.correction", "is not an int64");
    header->set_correction(value.int64_param());
    return absl::OkStatus();
  }
  if (name == kMarkFinal) {
    return value.has_bool_param() ? absl::OkStatus()
                                  : Wrong(absl::StrCat("parameters.", name), "is not a bool");
  }
  return Wrong("parameters",
               absl::StrCat(Quoted(name),
                            " is unknown; there are axis, keepdims, nan_policy and correction"));
}

// Of an input or an output: there are none that this server could obey.
absl::Status CheckTensorParameters(absl::string_view field, const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    if (absl::StartsWith(name, "shared_memory_")) {
      return absl::UnimplementedError(
          absl::StrCat(field, ".parameters: shared memory is not in this server yet"));
    }
    return Wrong(absl::StrCat(field, ".parameters"), absl::StrCat(Quoted(name), " is unknown"));
  }
  return absl::OkStatus();
}

absl::Status TakeInput(const ModelInferRequest& request, v1::ReduceRequest* header) {
  if (request.inputs_size() != 1) {
    return Wrong("inputs",
                 absl::StrCat("a model has one, INPUT; there are ", request.inputs_size()));
  }
  const ModelInferRequest::InferInputTensor& input = request.inputs(0);
  if (input.name() != kInputName) {
    return Wrong("inputs.name", absl::StrCat(Quoted(input.name()), " is not INPUT"));
  }
  const absl::StatusOr<DType> dtype = DecodeDatatype(input.datatype());
  if (!dtype.ok()) return dtype.status();
  header->mutable_tensor()->set_dtype(ToProto(*dtype));
  *header->mutable_tensor()->mutable_shape() = input.shape();
  return CheckTensorParameters("inputs", input.parameters());
}

absl::Status TakeOutputs(const ModelInferRequest& request, const Model& model,
                         v1::ReduceRequest* header) {
  if (request.outputs().empty()) {
    for (const Op op : model.ops) header->add_ops(ToProto(op));
  }
  for (const ModelInferRequest::InferRequestedOutputTensor& output : request.outputs()) {
    const auto op = std::find_if(model.ops.begin(), model.ops.end(), [&output](Op candidate) {
      return OutputName(candidate) == output.name();
    });
    if (op == model.ops.end()) {
      return Wrong("outputs.name",
                   absl::StrCat(model.name, " has no output ", Quoted(output.name())));
    }
    header->add_ops(ToProto(*op));
    if (absl::Status status = CheckTensorParameters("outputs", output.parameters()); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Translate(const ModelInferRequest& request, const Model& model,
                       v1::ReduceRequest* header) {
  if (absl::Status status = TakeInput(request, header); !status.ok()) return status;
  if (absl::Status status = TakeOutputs(request, model, header); !status.ok()) return status;
  for (const auto& [name, value] : request.parameters()) {
    if (absl::Status status = TakeParameter(name, value, header); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace warpfold::kserve
