#include "server/frontend/native/decode.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/field_error.h"
#include "kernels/ops/catalogue.h"
#include "server/frontend/native/op_params.h"
#include "server/frontend/wire/wire_message.h"

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

absl::Status DecodeTensorSpec(const v1::TensorSpec& tensor, ReduceSpec* spec) {
  absl::StatusOr<DType> dtype = DecodeDType(tensor.dtype());
  if (!dtype.ok()) return dtype.status();
  spec->dtype = *dtype;
  spec->shape.assign(tensor.shape().begin(), tensor.shape().end());
  return absl::OkStatus();
}

// What a reduction is, but for its tensor: the fields that ReduceRequest and PartialState share.
template <typename Message>
absl::Status DecodeSharedFields(const Message& message, ReduceSpec* spec) {
  spec->axes.assign(message.axes().begin(), message.axes().end());
  spec->keepdims = message.keepdims();
  if (absl::Status decoded = DecodeOps(message.ops(), spec); !decoded.ok()) return decoded;
  if (!v1::NanPolicy_IsValid(message.nan_policy())) {
    return InvalidField(Field::kNanPolicy,
                        absl::StrCat(static_cast<int>(message.nan_policy()), " is unknown"));
  }
  spec->nan_policy =
      message.nan_policy() == v1::NAN_POLICY_OMIT ? NanPolicy::kOmit : NanPolicy::kPropagate;
  return absl::OkStatus();
}

SourceSpec SourceOf(const v1::Source& source) {
  if (source.has_tensor_id()) return InTensor{source.tensor_id()};
  if (!source.has_memory()) return InMessage{};
  const v1::MemoryRef& memory = source.memory();
  return InRegion{memory.name(), memory.offset_bytes(), memory.size_bytes()};
}

absl::Status TensorMissing() { return InvalidField(Field::kTensor, "is not given"); }

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

// The source of the values, which is the only one: `sources`, or `sources[i].role`, is refused
// otherwise.
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

}  // namespace

v1::Op ToProto(Op op) { return static_cast<v1::Op>(InfoOf(op).number); }

v1::DType ToProto(DType dtype) { return static_cast<v1::DType>(RowOf(dtype).number); }

absl::StatusOr<ReduceSpec> DecodeSpec(const v1::PartialState& state, const Limits& limits) {
  absl::Status status = CheckOpCount(static_cast<std::size_t>(state.ops_size()), limits);
  if (!status.ok()) return status;
  if (!state.has_tensor()) return TensorMissing();
  ReduceSpec spec;
  status = DecodeTensorSpec(state.tensor(), &spec);
  if (status.ok()) status = DecodeSharedFields(state, &spec);
  if (!status.ok()) return status;
  return spec;
}

absl::StatusOr<RequestSpec> DecodeReduce(const v1::ReduceRequest& message) {
  const absl::StatusOr<const v1::Source*> values = FindValues(message);
  if (!values.ok()) return values.status();
  RequestSpec spec{.id = message.request_id(), .has_tensor = (*values)->has_tensor()};
  absl::Status status = CheckAllKnown(message);
  if (status.ok() && spec.has_tensor) status = DecodeTensorSpec((*values)->tensor(), &spec.reduce);
  if (status.ok() && !spec.has_tensor && !(*values)->has_tensor_id()) status = TensorMissing();
  if (status.ok()) status = DecodeSharedFields(message, &spec.reduce);
  if (!status.ok()) return status;
  spec.source = SourceOf(**values);
  if (message.has_part()) {
    const v1::Part& part = message.part();
    spec.part = {{part.whole_shape().begin(), part.whole_shape().end()},
                 {part.offset().begin(), part.offset().end()}};
  }
  spec.return_state = message.return_state();
  spec.consume = message.consume();
  spec.required_numerics_version = message.required_numerics_version();
  return spec;
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
