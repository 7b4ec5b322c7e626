#include "server/frontend/kserve/infer_decode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/ops/catalogue.h"
#include "server/frontend/kserve/datatype.h"

namespace warpfold::kserve {
namespace {

using inference::InferParameter;
using inference::ModelInferRequest;
using Parameters = google::protobuf::Map<std::string, InferParameter>;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status AddAxes(const InferParameter& value, RequestSpec* spec) {
  constexpr absl::string_view kField = "parameters.axis";
  if (value.has_int64_param()) {
    spec->reduce.axes.push_back(value.int64_param());
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
    spec->reduce.axes.push_back(axis);
  }
  return absl::OkStatus();
}

absl::Status SetNanPolicy(const InferParameter& value, RequestSpec* spec) {
  const std::string& name = value.string_param();
  if (name == "propagate") {
    spec->reduce.nan_policy = NanPolicy::kPropagate;
  } else if (name == "omit") {
    spec->reduce.nan_policy = NanPolicy::kOmit;
  } else {
    return Wrong("parameters.nan_policy", "is neither 'propagate' nor 'omit'");
  }
  return absl::OkStatus();
}

// That of the ops that have one.
absl::StatusOr<double> CorrectionOf(const Parameters& parameters) {
  constexpr absl::string_view kField = "parameters.correction";
  const auto found = parameters.find("correction");
  if (found == parameters.end()) return 0;
  const InferParameter& value = found->second;
  if (value.has_int64_param()) {
    const auto correction = static_cast<double>(value.int64_param());
    if (std::fabs(correction) < 0x1p53) return correction;
    return Wrong(kField, "is not between -2^53 and 2^53");
  }
  if (!value.has_double_param()) return Wrong(kField, "is neither an int64 nor a double");
  if (!std::isfinite(value.double_param())) return Wrong(kField, "is not a finite number");
  return value.double_param();
}

absl::Status TakeParameter(const std::string& name, const InferParameter& value,
                           RequestSpec* spec) {
  if (name == "axis") return AddAxes(value, spec);
  if (name == "nan_policy") return SetNanPolicy(value, spec);
  if (name == "keepdims") {
    if (!value.has_bool_param()) return Wrong("parameters.keepdims", "is not a bool");
    spec->reduce.keepdims = value.bool_param();
    return absl::OkStatus();
  }
  if (name == "correction") return absl::OkStatus();  // the ops' (CorrectionOf)
  if (name == "required_numerics_version") {
    const std::int64_t version = value.int64_param();
    if (!value.has_int64_param() || version < 0 ||
        version > std::numeric_limits<std::uint32_t>::max()) {
      return Wrong("parameters.required_numerics_version", "is not an int64 from 0 to 2^32 - 1");
    }
    spec->required_numerics_version = static_cast<std::uint32_t>(version);
    return absl::OkStatus();
  }
  if (name == kMarkFinal) {
    return value.has_bool_param() ? absl::OkStatus()
                                  : Wrong(absl::StrCat("parameters.", name), "is not a bool");
  }
  return Wrong("parameters",
               absl::StrCat(Quoted(name),
                            " is unknown; there are axis, keepdims, nan_policy, correction and "
                            "required_numerics_version"));
}

// The region that an input's or output's parameters name; none: it travels in the message.
absl::StatusOr<std::optional<InRegion>> TakeRegion(const std::string& field,
                                                   const Parameters& parameters) {
  InRegion region;
  bool has_size = false;
  for (const auto& [name, value] : parameters) {
    if (name == "shared_memory_region" && value.has_string_param()) {
      region.name = value.string_param();
    } else if (name == "shared_memory_offset" && value.has_int64_param()) {
      region.offset_bytes = value.int64_param();
    } else if (name == "shared_memory_byte_size" && value.has_int64_param()) {
      region.size_bytes = value.int64_param();
      has_size = true;
    } else {
      return Wrong(
          field + ".parameters",
          absl::StrCat(Quoted(name),
                       " is unknown, or not of its type; there are shared_memory_region "
                       "(string), shared_memory_byte_size and shared_memory_offset (int64)"));
    }
  }
  if (parameters.empty()) return std::nullopt;
  if (region.name.empty() || !has_size) {
    return Wrong(field + ".parameters",
                 "shared_memory_region and shared_memory_byte_size go together");
  }
  return region;
}

absl::Status TakeInput(const ModelInferRequest& request, RequestSpec* spec) {
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
  spec->reduce.dtype = *dtype;
  spec->reduce.shape.assign(input.shape().begin(), input.shape().end());
  absl::StatusOr<std::optional<InRegion>> region = TakeRegion("inputs", input.parameters());
  if (!region.ok()) return region.status();
  if (!region->has_value()) return absl::OkStatus();
  if (input.has_contents()) return Wrong("inputs.contents", "the input is in shared memory");
  spec->source = **std::move(region);
  return absl::OkStatus();
}

void AddOp(Op op, double correction, RequestSpec* spec) {
  spec->reduce.ops.push_back(op);
  if (InfoOf(op).params == &kVarianceParams) spec->reduce.correction = correction;
}

absl::StatusOr<OutputPlaces> TakeOutputs(const ModelInferRequest& request, const Model& model,
                                         RequestSpec* spec) {
  const absl::StatusOr<double> correction = CorrectionOf(request.parameters());
  if (!correction.ok()) return correction.status();
  if (request.outputs().empty()) {
    for (const Op op : model.ops) AddOp(op, *correction, spec);
    return OutputPlaces(model.ops.size());
  }
  OutputPlaces places;
  for (const ModelInferRequest::InferRequestedOutputTensor& output : request.outputs()) {
    const auto op = std::find_if(model.ops.begin(), model.ops.end(), [&output](Op candidate) {
      return OutputName(candidate) == output.name();
    });
    if (op == model.ops.end()) {
      return Wrong("outputs.name",
                   absl::StrCat(model.name, " has no output ", Quoted(output.name())));
    }
    AddOp(*op, *correction, spec);
    absl::StatusOr<std::optional<InRegion>> place = TakeRegion("outputs", output.parameters());
    if (!place.ok()) return place.status();
    places.push_back(*std::move(place));
  }
  return places;
}

}  // namespace

absl::StatusOr<OutputPlaces> DecodeInfer(const ModelInferRequest& request, const Model& model,
                                         RequestSpec* spec) {
  if (absl::Status status = TakeInput(request, spec); !status.ok()) return status;
  absl::StatusOr<OutputPlaces> places = TakeOutputs(request, model, spec);
  if (!places.ok()) return places;
  for (const auto& [name, value] : request.parameters()) {
    if (absl::Status status = TakeParameter(name, value, spec); !status.ok()) return status;
  }
  return places;
}

}  // namespace warpfold::kserve
