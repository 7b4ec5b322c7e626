#include "kernels/field_error.h"

#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace warpfold {
namespace {

constexpr char kFieldKey[] = "warpfold/field";

// `error`, with the code of `why` and all that it carries but a field.
absl::Status Spelled(absl::string_view name, const FieldError& error, const absl::Status& why) {
  const std::string index = error.index.has_value() ? absl::StrCat("[", *error.index, "]") : "";
  absl::Status status(why.code(), absl::StrCat(name, index, error.member, ": ", error.text));
  why.ForEachPayload([&status](absl::string_view key, const absl::Cord& payload) {
    if (key != kFieldKey) status.SetPayload(key, payload);
  });
  return status;
}

absl::Status Marked(const FieldError& error, const absl::Status& why) {
  absl::Status status = Spelled(Name(error.field), error, why);
  const std::string index = error.index.has_value() ? absl::StrCat(*error.index) : "";
  status.SetPayload(kFieldKey, absl::Cord(absl::StrCat(static_cast<int>(error.field), " ", index,
                                                       " ", error.member, " ", error.text)));
  return status;
}

}  // namespace

const char* Name(Field field) {
  switch (field) {
    case Field::kRequestId:
      return "request_id";
    case Field::kTensor:
      return "tensor";
    case Field::kTensorDType:
      return "tensor.dtype";
    case Field::kTensorShape:
      return "tensor.shape";
    case Field::kSources:
      return "sources";
    case Field::kOps:
      return "ops";
    case Field::kAxes:
      return "axes";
    case Field::kNanPolicy:
      return "nan_policy";
    case Field::kPart:
      return "part";
    case Field::kPartWholeShape:
      return "part.whole_shape";
    case Field::kPartOffset:
      return "part.offset";
    case Field::kReturnState:
      return "return_state";
    case Field::kRequiredNumericsVersion:
      return "required_numerics_version";
    case Field::kConsume:
      return "consume";
    case Field::kData:
      return "data";
    case Field::kTensorId:
      return "tensor_id";
    case Field::kMemoryName:
      return "memory.name";
    case Field::kMemoryOffsetBytes:
      return "memory.offset_bytes";
    case Field::kMemorySizeBytes:
      return "memory.size_bytes";
    case Field::kHeader:
      return "header";
    case Field::kChunk:
      return "chunk";
    case Field::kStates:
      return "states";
    case Field::kOffset:
      return "offset";
    case Field::kLength:
      return "length";
    case Field::kReaders:
      return "readers";
    case Field::kTtl:
      return "ttl_ms";
    case Field::kName:
      return "name";
    case Field::kKey:
      return "key";
    case Field::kHandle:
      return "handle";
    case Field::kDeviceOrdinal:
      return "device_ordinal";
    case Field::kOffsetBytes:
      return "offset_bytes";
    case Field::kSizeBytes:
      return "size_bytes";
  }
  __builtin_unreachable();
}

absl::Status FieldStatus(Field field, const absl::Status& why) {
  return Marked({field, std::nullopt, "", std::string(why.message())}, why);
}

absl::Status FieldStatus(Field field, std::int64_t index, const absl::Status& why) {
  return FieldStatus(field, index, "", why);
}

absl::Status FieldStatus(Field field, std::int64_t index, absl::string_view member,
                         const absl::Status& why) {
  return Marked({field, index, std::string(member), std::string(why.message())}, why);
}

absl::Status InvalidField(Field field, absl::string_view text) {
  return FieldStatus(field, absl::InvalidArgumentError(text));
}

std::optional<FieldError> FieldErrorOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kFieldKey);
  if (!payload.has_value()) return std::nullopt;
  const std::string bytes(*payload);
  const std::vector<absl::string_view> parts = absl::StrSplit(bytes, absl::MaxSplits(' ', 3));
  int number = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &number) || number < 0 ||
      number >= kFieldCount) {
    return std::nullopt;
  }
  FieldError error{static_cast<Field>(number), std::nullopt, std::string(parts[2]),
                   std::string(parts[3])};
  std::int64_t index = 0;
  if (absl::SimpleAtoi(parts[1], &index)) error.index = index;
  return error;
}

absl::Status RenameField(const absl::Status& status, absl::string_view name) {
  const std::optional<FieldError> error = FieldErrorOf(status);
  if (!error.has_value()) return status;
  return Spelled(name, *error, status);
}

}  // namespace warpfold
