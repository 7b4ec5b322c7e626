// InferTensorContents, elements by their type, as the bytes of a tensor. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_TYPED_CONTENTS_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_TYPED_CONTENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "kernels/types.h"

namespace warpfold::kserve {

// INVALID_ARGUMENT `inputs.contents`: in another field than `dtype`'s, out of its range, or FP16 or
// BF16, which have no field. RESOURCE_EXHAUSTED: NoHostMemory (host_bytes.h).
absl::StatusOr<std::string> BytesOf(const inference::InferTensorContents& contents, DType dtype);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_TYPED_CONTENTS_H_
