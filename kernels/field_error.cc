#include "kernels/field_error.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace warpfold {
namespace {

constexpr char kFieldKey[] = "warpfold/field";

struct FieldName {
  Field field;
  const char* name;
};
constexpr FieldName kNames[] = {{Field::kRequestId, "request_id"},
                                {Field::kTensor, "tensor"},
                                {Field::kTensorDType, "tensor.dtype"},
                                {Field::kTensorShape, "tensor.shape"},
                                {Field::kSources, "sources"},
                                {Field::kOps, "ops"},
                                {Field::kAxes, "axes"},
                                {Field::kNanPolicy, "nan_policy"},
                                {Field::kPart, "part"},
                                {Field::kPartWholeShape, "part.whole_shape"},
                                {Field::kPartOffset, "part.offset"},
                                {Field::kReturnState, "return_state"},
                                {Field::kConsume, "consume"},
                                {Field::kRequiredNumericsVersion, "required_numerics_version"},
                                {Field::kData, "data"},
                                {Field::kTensorId, "tensor_id"},
                                {Field::kMemoryName, "memory.name"},
                                {Field::kMemoryOffsetBytes, "memory.offset_bytes"},
                                {Field::kMemorySizeBytes, "memory.size_bytes"},
                                {Field::kHeader, "header"},
                                {Field::kChunk, "chunk"},
                                {Field::kStates, "states"},
                                {Field::kOffset, "offset"},
                                {Field::kLength, "length"},
                                {Field::kTtl, "ttl_ms"},
                                {Field::kName, "name"},
                                {Field::kKey, "key"},
                                {Field::kHandle, "handle"},
                                {Field::kDeviceOrdinal, "device_ordinal"},
                                {Field::kOffsetBytes, "offset_bytes"},
                                {Field::kSizeBytes, "size_bytes"},
                                {Field::kReaders, "readers"}};
static_assert(std::size(kNames) == kFieldCount);
static_assert(std::ranges::all_of(kNames, [](const FieldName& row) {
  return &row == &kNames[static_cast<std::size_t>(row.field)];
}));

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

const char* Name(Field field) { return kNames[static_cast<std::size_t>(field)].name; }

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
