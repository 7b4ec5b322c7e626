// The protocol's names of element types. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_DATATYPE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_DATATYPE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "inference/model_config.pb.h"
#include "kernels/types.h"

namespace warpfold::kserve {

// "FP32", "TYPE_FP32".
const char* DatatypeName(DType dtype);
inference::DataType DatatypeInConfig(DType dtype);

// INVALID_ARGUMENT `inputs.datatype`: unknown, or BYTES.
absl::StatusOr<DType> DecodeDatatype(absl::string_view name);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_DATATYPE_H_
