#include "server/frontend/kserve/datatype.h"

#include "absl/strings/str_cat.h"
#include "server/frontend/kserve/models.h"

namespace warpfold::kserve {

const char* DatatypeName(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "BOOL";
    case DType::kI8:
      return "INT8";
    case DType::kU8:
      return "UINT8";
    case DType::kI16:
      return "INT16";
    case DType::kU16:
      return "UINT16";
    case DType::kI32:
      return "INT32";
    case DType::kU32:
      return "UINT32";
    case DType::kI64:
      return "INT64";
    case DType::kU64:
      return "UINT64";
    case DType::kF16:
      return "FP16";
    case DType::kBF16:
      return "BF16";
    case DType::kF32:
      return "FP32";
    case DType::kF64:
      return "FP64";
  }
  __builtin_unreachable();
}

inference::DataType DatatypeInConfig(DType dtype) {
  inference::DataType in_config = inference::TYPE_INVALID;
  inference::DataType_Parse(absl::StrCat("TYPE_", DatatypeName(dtype)), &in_config);
  return in_config;
}

absl::StatusOr<DType> DecodeDatatype(absl::string_view name) {
  for (const DType dtype : kAllDTypes) {
    if (DatatypeName(dtype) == name) return dtype;
  }
  if (name == "BYTES") {
    return absl::InvalidArgumentError("inputs.datatype: BYTES are no numbers to reduce");
  }
  return absl::InvalidArgumentError(absl::StrCat("inputs.datatype: ", Quoted(name), " is unknown"));
}

}  // namespace warpfold::kserve
