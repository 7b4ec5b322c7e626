#include "server/frontend/decode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/field_error.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

absl::StatusOr<DType> DecodeDType(v1::DType dtype) {
  for (const DType known : kAllDTypes) {
    if (ToProto(known) == dtype) return known;
  }
  if (dtype == v1::DTYPE_UNSPECIFIED) {
    return InvalidField(Field::kTensorDType, "is not given");
  }
  return InvalidField(Field::kTensorDType, absl::StrCat(static_cast<int>(dtype), " is unknown"));
}

absl::StatusOr<Op> DecodeOp(v1::Op op) {
  for (const Op known : kAllOps) {
    if (ToProto(known) == op) return known;
  }
  if (op == v1::OP_UNSPECIFIED) return InvalidField(Field::kOps, "OP_UNSPECIFIED is no op");
  if (!v1::Op_IsValid(op)) {
    return InvalidField(Field::kOps, absl::StrCat(static_cast<int>(op), " is unknown"));
  }
  return FieldStatus(Field::kOps, absl::UnimplementedError(
                                      absl::StrCat(v1::Op_Name(op), " is not in this server yet")));
}

// Options of the contract that this server does not have.
absl::Status CheckOptions(const v1::ReduceRequest& message) {
  if (message.has_part() && !message.return_state()) {
    return InvalidField(Field::kPart, "only a state is asked of a part: set return_state");
  }
  if (message.return_state() && message.has_tensor_id()) {
    return FieldStatus(
        Field::kReturnState,
        absl::UnimplementedError("states of resident tensors are not in this server yet"));
  }
  if (message.consume() && !message.has_tensor_id()) {
    return InvalidField(Field::kConsume, "goes with tensor_id");
  }
  return absl::OkStatus();
}

// What a reduction is: the fields that ReduceRequest and PartialState share.
template <typename Message>
absl::StatusOr<ReduceSpec> DecodeSharedFields(const Message& message, const Limits& limits) {
  if (message.ops_size() > limits.max_ops) {
    return InvalidField(
        Field::kOps, absl::StrCat(message.ops_size(), " are above the limit of ", limits.max_ops));
  }
  if (!message.has_tensor()) return InvalidField(Field::kTensor, "is not given");
  absl::StatusOr<DType> dtype = DecodeDType(message.tensor().dtype());
  if (!dtype.ok()) return dtype.status();
  ReduceSpec spec;
  spec.dtype = *dtype;
  spec.shape.assign(message.tensor().shape().begin(), message.tensor().shape().end());
  spec.axes.assign(message.axes().begin(), message.axes().end());
  spec.keepdims = message.keepdims();
  spec.correction = message.correction();
  for (const int op : message.ops()) {
    absl::StatusOr<Op> known = DecodeOp(static_cast<v1::Op>(op));
    if (!known.ok()) return known.status();
    spec.ops.push_back(*known);
  }
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
  return DecodeSharedFields(state, limits);
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

absl::StatusOr<Request> DecodeRequest(const v1::ReduceRequest& message, const Limits& limits) {
  if (absl::Status status = CheckRequestId(message.request_id(), limits); !status.ok()) {
    return status;
  }
  absl::Status version = CheckNumericsVersion(message.required_numerics_version());
  if (!version.ok()) return version;
  absl::StatusOr<ReduceSpec> spec = DecodeSharedFields(message, limits);
  if (!spec.ok()) return spec.status();
  if (absl::Status status = CheckOptions(message); !status.ok()) return status;
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
  if (!message.has_tensor()) {
    FillTensor(shape, whole.mutable_tensor());
  } else if (message.tensor().dtype() != ToProto(shape.dtype) ||
             !std::equal(message.tensor().shape().begin(), message.tensor().shape().end(),
                         shape.lengths.begin(), shape.lengths.end())) {
    return InvalidField(Field::kTensor, "is not that of tensor_id");
  }
  return DecodeRequest(whole, limits);
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

void FillTensor(const TensorShape& shape, v1::TensorSpec* message) {
  message->set_dtype(ToProto(shape.dtype));
  message->mutable_shape()->Assign(shape.lengths.begin(), shape.lengths.end());
}

}  // namespace warpfold
