#include "server/frontend/kserve/datatype.h"

#include "absl/strings/str_cat.h"
#include "kernels/dtypes/catalogue.h"
#include "server/frontend/kserve/models.h"

namespace warpfold::kserve {

const char* DatatypeName(DType dtype) { return RowOf(dtype).kserve; }

inference::DataType DatatypeInConfig(DType dtype) {
  inference::DataType in_config = inference::TYPE_INVALID;
  const bool is_known =
      inference::DataType_Parse(absl::StrCat("TYPE_", DatatypeName(dtype)), &in_config);
  return is_known ? in_config : inference::TYPE_INVALID;
}

absl::StatusOr<DType> DecodeDatatype(absl::string_view name) {
  for (const DType dtype : kAllDTypes) {
    if (!name.empty() && DatatypeName(dtype) == name) return dtype;  // some have no name there
  }
  if (name == "BYTES") {
    return absl::InvalidArgumentError("inputs.datatype: BYTES are no numbers to reduce");
  }
  return absl::InvalidArgumentError(absl::StrCat("inputs.datatype: ", Quoted(name), " is unknown"));
}

}  // namespace warpfold::kserve
