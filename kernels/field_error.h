// Which field of a request an error is about.
//
// The kind travels inside the absl::Status, so that it survives every layer that only passes a
// status on; no layer has to read it out of a text. The message is the contract's spelling, as in
// "tensor.shape: rank 33 is above the limit of 32" or "states[2]: is not a PartialState". A
// protocol with other names puts its own in front of FieldError::text (RenameField).
//
// It lies this low because planning and devices find fields wrong, too. Pure functions, safe from
// any thread.
#ifndef WARPFOLD_KERNELS_FIELD_ERROR_H_
#define WARPFOLD_KERNELS_FIELD_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace warpfold {

// The fields of warpfold.v1 that errors are about, a member's from its message on.
enum class Field : std::uint8_t {
  // Of a reduction.
  kRequestId,
  kTensor,
  kTensorDType,
  kTensorShape,
  kSources,
  kOps,
  kAxes,
  kNanPolicy,
  kPart,
  kPartWholeShape,
  kPartOffset,
  kReturnState,
  kConsume,
  kRequiredNumericsVersion,
  // Its tensor's source.
  kData,
  kTensorId,
  kMemoryName,
  kMemoryOffsetBytes,
  kMemorySizeBytes,
  // Of a stream.
  kHeader,
  kChunk,
  // Of states to merge, and of one of them.
  kStates,
  kOffset,
  kLength,
  // Of a tensor or of memory that a server keeps.
  kTtl,
  kName,
  kKey,
  kHandle,
  kDeviceOrdinal,
  kOffsetBytes,
  kSizeBytes,
  kReaders,
};
inline constexpr int kFieldCount = static_cast<int>(Field::kReaders) + 1;

// As warpfold.v1 spells it: "tensor.shape".
const char* Name(Field field);

struct FieldError {
  Field field = Field::kTensor;
  std::optional<std::int64_t> index;  // the element of a repeated field
  std::string member;                 // a field of that element, as in ".role"; or none
  std::string text;                   // what is wrong, as it stands behind the field's name
};

// `why`, an error, about `field`: its message goes behind the field's name, its code and what it
// carries stay. Once: what is about a field already is not about another.
absl::Status FieldStatus(Field field, const absl::Status& why);
// The same of one element of a repeated field, or of its `member`: ".role".
absl::Status FieldStatus(Field field, std::int64_t index, const absl::Status& why);
absl::Status FieldStatus(Field field, std::int64_t index, absl::string_view member,
                         const absl::Status& why);
// INVALID_ARGUMENT about `field`.
absl::Status InvalidField(Field field, absl::string_view text);

// What `status` is about; none: no field.
std::optional<FieldError> FieldErrorOf(const absl::Status& status);

// `status`, which is about a field, with `name` in the place of that field's. It is then about
// none of warpfold.v1's, so that nobody renames it again; what else it carries stays.
absl::Status RenameField(const absl::Status& status, absl::string_view name);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FIELD_ERROR_H_
