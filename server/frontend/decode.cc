#include "server/frontend/decode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/field_error.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "server/core/refusal.h"
#include "server/frontend/op_params.h"
#include "server/frontend/unknown_fields.h"

namespace warpfold {
namespace {

// What there is, for whoever asked for something else.
template <typename Members>
std::string Known(const Members& all) {
  return absl::StrCat("this server has ", absl::StrJoin(all, ", ", [](std::string* out, auto one) {
                        absl::StrAppend(out, Name(one));
                      }));
}

absl::StatusOr<DType> DecodeDType(v1::DType dtype) {
  for (const DType known : kAllDTypes) {
    if (ToProto(known) == dtype) return known;
  }
  if (dtype == v1::DTYPE_UNSPECIFIED) {
    return InvalidField(Field::kTensorDType, "is not given");
  }
  if (v1::DType_IsValid(dtype)) {
    return FieldStatus(
        Field::kTensorDType,
        absl::UnimplementedError(absl::StrCat(v1::DType_Name(dtype), " is not in this server yet; ",
                                              Known(kAllDTypes))));
  }
  return InvalidField(Field::kTensorDType,
                      absl::StrCat(static_cast<int>(dtype), " is unknown; ", Known(kAllDTypes)));
}

absl::StatusOr<Op> DecodeOp(std::int64_t i, v1::Op op) {
  for (const Op known : kAllOps) {
    if (ToProto(known) == op) return known;
  }
  const auto wrong = [i](const absl::Status& why) {
    return FieldStatus(Field::kOps, i, ".op", why);
  };
  if (op == v1::OP_UNSPECIFIED) return wrong(absl::InvalidArgumentError("is not given"));
  if (v1::Op_IsValid(op)) {
    return wrong(absl::UnimplementedError(
        absl::StrCat(v1::Op_Name(op), " is not in this server yet; ", Known(kAllOps))));
  }
  return wrong(absl::InvalidArgumentError(
      absl::StrCat(static_cast<int>(op), " is unknown; ", Known(kAllOps))));
}

// Whether it has nothing else, not even of a newer client's.
bool IsOpAlone(const v1::OpSpec& spec) {
  return spec.params_case() == v1::OpSpec::PARAMS_NOT_SET && FirstUnknownField(spec) == 0;
}

// All digits, by which it differs from another.
std::string Exactly(double number) { return absl::StrFormat("%.17g", number); }

// The ops and their parameters.
absl::Status DecodeOps(const google::protobuf::RepeatedPtrField<v1::OpSpec>& messages,
                       ReduceSpec* spec) {
  std::optional<int> sets_correction;
  for (int i = 0; i < messages.size(); ++i) {
    const v1::OpSpec& message = messages[i];
    const absl::StatusOr<Op> op = DecodeOp(i, message.op());
    if (!op.ok()) return op.status();
    spec->ops.push_back(*op);
    const ParamSet* params = InfoOf(*op).params;
    if (params == nullptr && IsOpAlone(message)) continue;
    const absl::StatusOr<std::vector<double>> values = DecodeParams(i, message, params);
    if (!values.ok()) return values.status();
    if (params != &kVarianceParams) continue;
    if (sets_correction.has_value() && values->front() != spec->correction) {
      return FieldStatus(
          Field::kOps, i, ".variance.correction",
          absl::InvalidArgumentError(
              absl::StrCat("is ", Exactly(values->front()), ", but that of ops[", *sets_correction,
                           "] is ", Exactly(spec->correction), ": a request has one")));
    }
    sets_correction = i;
    spec->correction = values->front();
  }
  return absl::OkStatus();
}

// Options of the contract that this server does not have.
absl::Status CheckOptions(const v1::ReduceRequest& message, const v1::Source& values) {
  if (message.has_part() && !message.return_state()) {
    return InvalidField(Field::kPart, "only a state is asked of a part: set return_state");
  }
  if (message.return_state() && values.has_tensor_id()) {
    return FieldStatus(
        Field::kReturnState,
        absl::UnimplementedError("states of resident tensors are not in this server yet"));
  }
  if (message.consume() && !values.has_tensor_id()) {
    return InvalidField(Field::kConsume, "goes with tensor_id");
  }
  return absl::OkStatus();
}

// What a reduction of `tensor` is: the fields that ReduceRequest and PartialState share.
template <typename Message>
absl::StatusOr<ReduceSpec> DecodeSharedFields(const Message& message, const v1::TensorSpec* tensor,
                                              const Limits& limits) {
  if (message.ops_size() > limits.max_ops) {
    return InvalidField(
        Field::kOps, absl::StrCat(message.ops_size(), " are above the limit of ", limits.max_ops));
  }
  if (tensor == nullptr) return InvalidField(Field::kTensor, "is not given");
  absl::StatusOr<DType> dtype = DecodeDType(tensor->dtype());
  if (!dtype.ok()) return dtype.status();
  ReduceSpec spec;
  spec.dtype = *dtype;
  spec.shape.assign(tensor->shape().begin(), tensor->shape().end());
  spec.axes.assign(message.axes().begin(), message.axes().end());
  spec.keepdims = message.keepdims();
  if (absl::Status decoded = DecodeOps(message.ops(), &spec); !decoded.ok()) return decoded;
  if (!v1::NanPolicy_IsValid(message.nan_policy())) {
    return InvalidField(Field::kNanPolicy,
                        absl::StrCat(static_cast<int>(message.nan_policy()), " is unknown"));
  }
  spec.nan_policy =
      message.nan_policy() == v1::NAN_POLICY_OMIT ? NanPolicy::kOmit : NanPolicy::kPropagate;
  return spec;
}

absl::Status CheckTensorBytes(const Plan& plan, const Limits& limits) {
  if (plan.input_bytes <= limits.max_tensor_bytes) return absl::OkStatus();
  return FieldStatus(
      Field::kTensor,
      RefusalStatus(NeverFits{}, absl::StrCat(plan.input_bytes, " bytes are above the limit of ",
                                              limits.max_tensor_bytes)));
}

// The part that `message` carries; without `part` that is the whole.
absl::StatusOr<Part> DecodePart(const v1::ReduceRequest& message, ReduceSpec spec) {
  Box box{std::vector<std::int64_t>(spec.shape.size()), spec.shape};
  if (message.has_part()) {
    if (message.part().whole_shape().empty() && !box.shape.empty()) {
      return InvalidField(Field::kPartWholeShape, absl::StrCat("is missing; the part has ",
                                                               box.shape.size(), " dimensions"));
    }
    spec.shape.assign(message.part().whole_shape().begin(), message.part().whole_shape().end());
    box.offset.assign(message.part().offset().begin(), message.part().offset().end());
  }
  absl::StatusOr<Plan> whole = MakePlan(spec);
  if (!whole.ok()) {
    // What is wrong with a shape is wrong with the whole's.
    const std::optional<FieldError> error = FieldErrorOf(whole.status());
    const bool is_of_shape = error.has_value() && error->field == Field::kTensorShape;
    if (!message.has_part() || !is_of_shape) return whole.status();
    return InvalidField(Field::kPartWholeShape, error->text);
  }
  return MakePart(std::move(spec), *std::move(whole), std::move(box));
}

}  // namespace

v1::Op ToProto(Op op) { return static_cast<v1::Op>(InfoOf(op).number); }

v1::DType ToProto(DType dtype) { return static_cast<v1::DType>(RowOf(dtype).number); }

std::int64_t StateBytesOf(const Plan& whole, const Box& box) {
  if (box.is_empty()) return 0;
  std::int64_t bytes = 0;
  for (const ValueKind kind : ValueKindsOf(whole)) {
    bytes += static_cast<std::int64_t>(ValueBytesMax(kind, whole.dtype));
  }
  return bytes * whole.output_count;
}

absl::StatusOr<ReduceSpec> DecodeSpec(const v1::PartialState& state, const Limits& limits) {
  return DecodeSharedFields(state, state.has_tensor() ? &state.tensor() : nullptr, limits);
}

absl::Status CheckResultSize(const Plan& plan, const Limits& limits) {
  // Per op first: the sum over ops cannot overflow once one op's results fit.
  const bool one_fits = plan.output_count <= limits.max_result_bytes;
  if (one_fits && plan.result_bytes() <= limits.max_result_bytes) return absl::OkStatus();
  return FieldStatus(Field::kTensor,
                     RefusalStatus(NeverFits{}, absl::StrCat("the results are above the limit of ",
                                                             limits.max_result_bytes, " bytes")));
}

absl::Status CheckStateSize(const Plan& whole, const Box& box, const Limits& limits) {
  if (whole.output_count <= limits.max_result_bytes &&
      StateBytesOf(whole, box) <= limits.max_result_bytes) {
    return absl::OkStatus();
  }
  return FieldStatus(Field::kTensor,
                     RefusalStatus(NeverFits{}, absl::StrCat("the state is above the limit of ",
                                                             limits.max_result_bytes, " bytes")));
}

std::int64_t AnswerBytes(const Request& request) {
  if (request.part.has_value()) return StateBytesOf(request.part->whole, request.part->box);
  return request.plan.result_bytes();
}

absl::Status CheckRequestId(const std::string& request_id, const Limits& limits) {
  if (request_id.size() <= static_cast<std::size_t>(limits.max_request_id_bytes)) {
    return absl::OkStatus();
  }
  return InvalidField(Field::kRequestId,
                      absl::StrCat(request_id.size(), " bytes are above the limit of ",
                                   limits.max_request_id_bytes));
}

absl::Status CheckNumericsVersion(std::uint32_t required) {
  if (required == 0 || required == kNumericsVersion) return absl::OkStatus();
  return FieldStatus(
      Field::kRequiredNumericsVersion,
      absl::FailedPreconditionError(
          absl::StrCat(required, " is asked for, but this server has version ", kNumericsVersion)));
}

namespace {

// Whether all fields of `message` itself are known. A newer client may say in others what changes
// the answer.
absl::Status CheckKnown(const google::protobuf::Message& message) {
  const int unknown = FirstUnknownField(message);
  if (unknown == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("field ", unknown, " is unknown"));
}

absl::Status CheckAllKnown(int i, const v1::Source& source) {
  absl::Status known = CheckKnown(source);
  if (!known.ok()) return FieldStatus(Field::kSources, i, known);
  if (source.has_tensor()) known = CheckKnown(source.tensor());
  if (!known.ok()) return FieldStatus(Field::kTensor, known);
  if (source.has_memory()) known = CheckKnown(source.memory());
  if (!known.ok()) return FieldStatus(Field::kSources, i, ".memory", known);
  return known;
}

absl::Status CheckAllKnown(const v1::ReduceRequest& message) {
  absl::Status known = CheckKnown(message);
  if (!known.ok()) return absl::InvalidArgumentError(absl::StrCat("message: ", known.message()));
  if (message.has_part()) known = CheckKnown(message.part());
  return known.ok() ? known : FieldStatus(Field::kPart, known);
}

}  // namespace

absl::StatusOr<const v1::Source*> FindValues(const v1::ReduceRequest& message) {
  const v1::Source* values = nullptr;
  for (int i = 0; i < message.sources_size(); ++i) {
    const v1::Source::Role role = message.sources(i).role();
    const auto wrong = [i](const absl::Status& why) {
      return FieldStatus(Field::kSources, i, ".role", why);
    };
    if (!v1::Source::Role_IsValid(role)) {
      return wrong(absl::InvalidArgumentError(
          absl::StrCat(static_cast<int>(role), " is unknown; this server takes VALUES")));
    }
    if (role != v1::Source::VALUES) {
      return wrong(absl::UnimplementedError(absl::StrCat(
          v1::Source::Role_Name(role), " is not in this server yet, which takes VALUES")));
    }
    if (values != nullptr) {
      return wrong(absl::InvalidArgumentError("VALUES is another source's, too"));
    }
    values = &message.sources(i);
    if (absl::Status known = CheckAllKnown(i, *values); !known.ok()) return known;
  }
  if (values == nullptr) return InvalidField(Field::kSources, "none has the role VALUES");
  return values;
}

absl::StatusOr<Request> DecodeRequest(const v1::ReduceRequest& message, const v1::Source& values,
                                      const Limits& limits) {
  if (absl::Status status = CheckRequestId(message.request_id(), limits); !status.ok()) {
    return status;
  }
  if (absl::Status known = CheckAllKnown(message); !known.ok()) return known;
  absl::Status version = CheckNumericsVersion(message.required_numerics_version());
  if (!version.ok()) return version;
  const v1::TensorSpec* tensor = values.has_tensor() ? &values.tensor() : nullptr;
  absl::StatusOr<ReduceSpec> spec = DecodeSharedFields(message, tensor, limits);
  if (!spec.ok()) return spec.status();
  if (absl::Status status = CheckOptions(message, values); !status.ok()) return status;
  Request request{.request_id = message.request_id(), .consume = message.consume()};
  if (message.return_state()) {
    absl::StatusOr<Part> part = DecodePart(message, *std::move(spec));
    if (!part.ok()) return part.status();
    request.plan = PlanOf(*part);
    request.part = *std::move(part);
  } else {
    absl::StatusOr<Plan> plan = MakePlan(*spec);
    if (!plan.ok()) return plan.status();
    request.plan = *std::move(plan);
  }
  absl::Status status = CheckTensorBytes(request.plan, limits);
  if (status.ok()) {
    status = request.part.has_value()
                 ? CheckStateSize(request.part->whole, request.part->box, limits)
                 : CheckResultSize(request.plan, limits);
  }
  if (!status.ok()) return status;
  return request;
}

absl::StatusOr<Request> DecodeResident(const v1::ReduceRequest& message, const TensorShape& shape,
                                       const Limits& limits) {
  v1::ReduceRequest whole = message;
  v1::Source& values = *whole.mutable_sources(0);
  if (!values.has_tensor()) {
    FillTensor(shape, values.mutable_tensor());
  } else if (values.tensor().dtype() != ToProto(shape.dtype) ||
             !std::equal(values.tensor().shape().begin(), values.tensor().shape().end(),
                         shape.lengths.begin(), shape.lengths.end())) {
    return InvalidField(Field::kTensor, "is not that of tensor_id");
  }
  return DecodeRequest(whole, values, limits);
}

absl::StatusOr<TensorShape> DecodeTensor(const v1::TensorSpec& message, const Limits& limits) {
  absl::StatusOr<DType> dtype = DecodeDType(message.dtype());
  if (!dtype.ok()) return dtype.status();
  TensorShape shape = {*dtype, {message.shape().begin(), message.shape().end()}, 0};
  // Planning checks a shape and counts its bytes; this op takes every tensor.
  const absl::StatusOr<Plan> plan =
      MakePlan({.dtype = *dtype, .shape = shape.lengths, .ops = {Op::kCountNonzero}, .axes = {}});
  if (!plan.ok()) return plan.status();
  if (absl::Status status = CheckTensorBytes(*plan, limits); !status.ok()) return status;
  shape.size_bytes = plan->input_bytes;
  return shape;
}

void FillOp(Op op, double correction, v1::OpSpec* message) {
  message->set_op(ToProto(op));
  if (InfoOf(op).params == &kVarianceParams)
    message->mutable_variance()->set_correction(correction);
}

void FillTensor(const TensorShape& shape, v1::TensorSpec* message) {
  message->set_dtype(ToProto(shape.dtype));
  message->mutable_shape()->Assign(shape.lengths.begin(), shape.lengths.end());
}

}  // namespace warpfold
