#include "server/frontend/kserve/field_names.h"

#include <optional>

#include "kernels/field_error.h"

namespace warpfold::kserve {
namespace {

// Null: the protocol has no such field.
const char* NameHere(Field field, Bytes bytes) {
  const bool is_output = bytes == Bytes::kOutput;
  switch (field) {
    case Field::kRequestId:
      return "id";
    case Field::kTensor:
      return "inputs";
    case Field::kTensorDType:
      return "inputs.datatype";
    case Field::kTensorShape:
      return "inputs.shape";
    case Field::kOps:
      return "outputs";
    case Field::kAxes:
      return "parameters.axis";
    case Field::kNanPolicy:
      return "parameters.nan_policy";
    case Field::kRequiredNumericsVersion:
      return "parameters.required_numerics_version";
    case Field::kData:
      return bytes == Bytes::kTypedInput ? "inputs.contents" : "raw_input_contents";
    case Field::kMemoryName:
      return is_output ? "outputs.parameters.shared_memory_region"
                       : "inputs.parameters.shared_memory_region";
    case Field::kMemoryOffsetBytes:
      return is_output ? "outputs.parameters.shared_memory_offset"
                       : "inputs.parameters.shared_memory_offset";
    case Field::kMemorySizeBytes:
      return is_output ? "outputs.parameters.shared_memory_byte_size"
                       : "inputs.parameters.shared_memory_byte_size";
    case Field::kName:
      return "name";
    case Field::kKey:
      return "key";
    case Field::kHandle:
      return "raw_handle";
    case Field::kDeviceOrdinal:
      return "device_id";
    case Field::kOffsetBytes:
      return "offset";
    case Field::kSizeBytes:
      return "byte_size";
    case Field::kPart:
    case Field::kPartWholeShape:
    case Field::kPartOffset:
    case Field::kReturnState:
    case Field::kConsume:
    case Field::kTensorId:
    case Field::kHeader:
    case Field::kChunk:
    case Field::kSources:
    case Field::kStates:
    case Field::kOffset:
    case Field::kLength:
    case Field::kTtl:
    case Field::kReaders:
      return nullptr;
  }
  __builtin_unreachable();
}

}  // namespace

absl::Status Renamed(const absl::Status& status, Bytes bytes) {
  const std::optional<FieldError> error = FieldErrorOf(status);
  const char* name = error.has_value() ? NameHere(error->field, bytes) : nullptr;
  return name == nullptr ? status : RenameField(status, name);
}

}  // namespace warpfold::kserve
