#include "server/frontend/native/state_message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"
#include "server/frontend/native/decode.h"
#include "server/frontend/native/part_cover.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t kVersion = 5;

// What a message becomes beside a copy of its values: fields of two bytes, which are 40 times as
// large when a vector has just grown for them. Of a state without values 530 bytes are held
// (libstdc++, protobuf 3.21).
constexpr std::int64_t kParsedBytesPerHeaderByte = 40;
constexpr std::int64_t kParsedBytesPerState = 2048;

// All reduced axes, ascending, from 0: of one reduction there is one way to say it.
std::vector<std::int64_t> AllAxes(const ReduceSpec& spec) {
  const std::int64_t rank = static_cast<std::int64_t>(spec.shape.size());
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : spec.axes) axes.push_back(axis < 0 ? axis + rank : axis);
  if (axes.empty()) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

template <typename... Pieces>
absl::Status Wrong(std::size_t i, const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat("states[", i, "]", pieces...));
}

// `status` of a field of state `i`.
absl::Status InState(std::size_t i, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("states[", i, "].", status.message()));
}

absl::StatusOr<v1::PartialState> ParseState(std::size_t i, const std::string& bytes) {
  v1::PartialState state;
  if (!state.ParseFromString(bytes)) return BrokenState(static_cast<std::int64_t>(i));
  if (state.version() != kVersion) {
    return Wrong(i, ".version: is ", state.version(), ", and this server joins states of version ",
                 kVersion);
  }
  return state;
}

// The field, if any, in which the reductions of two states differ.
const char* DifferentField(const ReduceSpec& a, const ReduceSpec& b) {
  if (a.dtype != b.dtype) return "tensor.dtype";
  if (a.shape != b.shape) return "tensor.shape";
  if (a.ops != b.ops || a.correction != b.correction) return "ops";
  if (AllAxes(a) != AllAxes(b)) return "axes";
  if (a.keepdims != b.keepdims) return "keepdims";
  if (a.nan_policy != b.nan_policy) return "nan_policy";
  return nullptr;
}

absl::StatusOr<Box> DecodeBox(std::size_t i, const v1::PartialState& state, const Plan& whole) {
  Box box{{state.part_offset().begin(), state.part_offset().end()},
          {state.part_shape().begin(), state.part_shape().end()}};
  if (const std::optional<BoxFault> fault = FaultOf(whole, box); fault.has_value()) {
    return Wrong(i, fault->is_of_shape ? ".part_shape: " : ".part_offset: ", fault->text);
  }
  return box;
}

absl::StatusOr<PartValues> DecodeValues(std::size_t i, const v1::PartialState& state,
                                        const Plan& whole, Box box) {
  const std::vector<ValueKind> kinds = ValueKindsOf(whole);
  if (static_cast<std::size_t>(state.components_size()) != kinds.size()) {
    return Wrong(i, ".components: has ", state.components_size(), ", but the ops are made of ",
                 kinds.size());
  }
  PartValues part{.box = std::move(box), .values = {}};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const v1::PartialState::Component& component = state.components(static_cast<int>(k));
    const v1::PartialState::Kind kind = ToProto(kinds[k]);
    if (component.kind() != kind) {
      return Wrong(i, ".components[", k, "].kind: is ", static_cast<int>(component.kind()),
                   ", not ", v1::PartialState::Kind_Name(kind));
    }
    const auto [oldest, newest] = RevisionsOf(kinds[k]);
    if (component.revision() < oldest || component.revision() > newest) {
      const std::string known =
          oldest == newest ? absl::StrCat(newest) : absl::StrCat(oldest, " to ", newest);
      return Wrong(i, ".components[", k, "].revision: is ", component.revision(),
                   ", and this server reads ", v1::PartialState::Kind_Name(kind), " of revision ",
                   known);
    }
    part.values.push_back(component.values());
  }
  return part;
}

// The bytes of the fields `payload_number`, of type bytes, of a message that ends where `input`
// does. `visit` may look into each; it leaves `input` behind it. None: malformed.
template <typename Visit>
std::optional<std::size_t> PayloadBytes(CodedInputStream& input, int payload_number,
                                        const Visit& visit) {
  std::size_t payload_bytes = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) != payload_number ||
        WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) return std::nullopt;
      continue;
    }
    std::uint32_t length = 0;
    if (!input.ReadVarint32(&length) || length > std::numeric_limits<int>::max()) {
      return std::nullopt;
    }
    payload_bytes += length;
    const CodedInputStream::Limit outer = input.PushLimit(static_cast<int>(length));
    const bool is_whole = input.BytesUntilLimit() == static_cast<int>(length) && visit(input) &&
                          input.BytesUntilLimit() == 0;
    input.PopLimit(outer);  // also of a broken one, whose rest whoever asked may skip
    if (!is_whole) return std::nullopt;
  }
  if (!input.ConsumedEntireMessage()) return std::nullopt;
  return payload_bytes;
}

bool SkipRest(CodedInputStream& input) { return input.Skip(input.BytesUntilLimit()); }

}  // namespace

v1::PartialState::Kind ToProto(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSum:
      return v1::PartialState::SUM_VALUES;
    case ValueKind::kAbsSum:
      return v1::PartialState::ABS_SUM_VALUES;
    case ValueKind::kSquareSum:
      return v1::PartialState::SQUARE_SUM_VALUES;
    case ValueKind::kMin:
      return v1::PartialState::MIN_VALUES;
    case ValueKind::kMax:
      return v1::PartialState::MAX_VALUES;
    case ValueKind::kArgMin:
      return v1::PartialState::ARGMIN_VALUES;
    case ValueKind::kArgMax:
      return v1::PartialState::ARGMAX_VALUES;
    case ValueKind::kNonzeroCount:
      return v1::PartialState::NONZERO_COUNT_VALUES;
    case ValueKind::kNanCount:
      return v1::PartialState::NAN_COUNT_VALUES;
    case ValueKind::kInfCount:
      return v1::PartialState::INF_COUNT_VALUES;
    case ValueKind::kProduct:
      return v1::PartialState::PRODUCT_VALUES;
  }
  __builtin_unreachable();
}

std::int64_t MergeOutline::parsed_bytes() const {
  return message_bytes + kParsedBytesPerHeaderByte * header_bytes + kParsedBytesPerState * states;
}

absl::Status BrokenState(std::int64_t i) {
  return FieldStatus(Field::kStates, i, absl::InvalidArgumentError("is not a PartialState"));
}

absl::StatusOr<MergeOutline> OutlineMerge(grpc::ByteBuffer* message) {
  const std::size_t message_bytes = message->Length();
  MergeOutline outline{.message_bytes = static_cast<std::int64_t>(message_bytes)};
  if (message_bytes == 0) return outline;
  grpc::ProtoBufferReader reader(message);
  CodedInputStream input(&reader);
  std::size_t state_header_bytes = 0;
  const auto count_header = [&](CodedInputStream& state) {
    const std::int64_t i = outline.states++;
    const auto bytes = static_cast<std::size_t>(state.BytesUntilLimit());
    std::size_t value_bytes = 0;
    const auto count_values = [&value_bytes](CodedInputStream& component) {
      const auto values =
          PayloadBytes(component, v1::PartialState::Component::kValuesFieldNumber, SkipRest);
      value_bytes += values.value_or(0);
      return values.has_value();
    };
    if (!PayloadBytes(state, v1::PartialState::kComponentsFieldNumber, count_values)) {
      if (!outline.broken_state.has_value()) outline.broken_state = i;
      return SkipRest(state);
    }
    state_header_bytes += bytes - value_bytes;
    return true;
  };
  const auto state_bytes = PayloadBytes(input, v1::MergeRequest::kStatesFieldNumber, count_header);
  if (!state_bytes.has_value()) return MalformedMessage();
  const std::size_t header_bytes = message_bytes - *state_bytes;
  if (header_bytes > kHeaderBytesMax) {
    return RefusalStatus(
        NeverFits{}, absl::StrCat("message: what is not in its ", outline.states, " states has ",
                                  header_bytes, " bytes, above the limit of ", kHeaderBytesMax,
                                  ": join some of them to a state first"));
  }
  if (state_header_bytes > kStateHeaderBytesMax) {
    return FieldStatus(
        Field::kStates,
        RefusalStatus(NeverFits{},
                      absl::StrCat("what is not values has ", state_header_bytes,
                                   " bytes, above the limit of ", kStateHeaderBytesMax)));
  }
  outline.header_bytes = static_cast<std::int64_t>(header_bytes + state_header_bytes);
  return outline;
}

absl::Status ParseMerge(grpc::ByteBuffer* message, v1::MergeRequest* request) {
  grpc::ByteBuffer taken;
  taken.Swap(message);
  if (taken.Length() == 0) return absl::OkStatus();
  grpc::ProtoBufferReader reader(&taken);
  if (!request->ParseFromZeroCopyStream(&reader)) return MalformedMessage();
  return absl::OkStatus();
}

std::string EncodeState(const Part& part, std::vector<std::string> values) {
  v1::PartialState state;
  state.set_version(kVersion);
  state.mutable_tensor()->set_dtype(ToProto(part.spec.dtype));
  state.mutable_tensor()->mutable_shape()->Assign(part.spec.shape.begin(), part.spec.shape.end());
  for (const Op op : part.spec.ops) FillOp(op, part.spec.correction, state.add_ops());
  for (const std::int64_t axis : AllAxes(part.spec)) state.add_axes(axis);
  state.set_keepdims(part.spec.keepdims);
  state.set_nan_policy(part.spec.nan_policy == NanPolicy::kOmit ? v1::NAN_POLICY_OMIT
                                                                : v1::NAN_POLICY_PROPAGATE);
  state.mutable_part_offset()->Assign(part.box.offset.begin(), part.box.offset.end());
  state.mutable_part_shape()->Assign(part.box.shape.begin(), part.box.shape.end());
  const std::vector<ValueKind> kinds = ValueKindsOf(part.whole);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    v1::PartialState::Component* component = state.add_components();
    component->set_kind(ToProto(kinds[k]));
    component->set_revision(RevisionsOf(kinds[k]).newest);
    component->set_values(std::move(values[k]));
  }
  return state.SerializeAsString();
}

absl::StatusOr<Merging> DecodeStates(const v1::MergeRequest& request, const Limits& limits) {
  if (request.states().empty()) return InvalidField(Field::kStates, "are none");
  Merging merging;
  for (const std::string& bytes : request.states()) {
    absl::StatusOr<v1::PartialState> state = ParseState(merging.messages.size(), bytes);
    if (!state.ok()) return state.status();
    merging.messages.push_back(*std::move(state));
  }
  absl::StatusOr<ReduceSpec> spec = DecodeSpec(merging.messages.front(), limits);
  if (!spec.ok()) return InState(0, spec.status());
  absl::StatusOr<Plan> whole = MakePlan(*spec);
  if (!whole.ok()) return InState(0, whole.status());
  // Of a state only that no count below overflows: what there is of it is not known yet.
  absl::Status fits = request.return_state() ? CheckStateSize(*whole, Box{{}, {0}}, limits)
                                             : CheckResultSize(*whole, limits);
  if (!fits.ok()) return InState(0, fits);

  std::vector<Box> boxes;
  for (std::size_t i = 0; i < merging.messages.size(); ++i) {
    const v1::PartialState& state = merging.messages[i];
    const absl::StatusOr<ReduceSpec> other = DecodeSpec(state, limits);
    if (!other.ok()) return InState(i, other.status());
    if (other->axes != AllAxes(*other)) {
      return Wrong(i, ".axes: are not all that are reduced, ascending, from 0 on");
    }
    if (const char* field = DifferentField(*spec, *other); field != nullptr) {
      return Wrong(i, ".", field, ": is not that of states[0]");
    }
    absl::StatusOr<Box> box = DecodeBox(i, state, *whole);
    if (!box.ok()) return box.status();
    boxes.push_back(*box);
    absl::StatusOr<PartValues> part = DecodeValues(i, state, *whole, *std::move(box));
    if (!part.ok()) return part.status();
    merging.parts.push_back(*std::move(part));
  }
  absl::StatusOr<Box> merged =
      UnionOf(boxes, request.return_state() ? std::nullopt : std::optional<Box>(BoxOf(*whole)));
  if (!merged.ok()) return merged.status();
  if (request.return_state()) {
    fits = CheckStateSize(*whole, *merged, limits);
    if (!fits.ok()) return InState(0, fits);
  }
  merging.merged = Part{*std::move(spec), *std::move(whole), *std::move(merged)};
  return merging;
}

}  // namespace warpfold
