// ModelInferRequest in the terms of warpfold.v1.
//
// Step of a request: 1. What both protocols check alike is left to DecodeRequest: axes, sizes,
// limits. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_REQUEST_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_REQUEST_H_

#include "absl/status/status.h"
#include "inference/grpc_service.pb.h"
#include "server/frontend/kserve/models.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::kserve {

inline constexpr char kMarkFinal[] = "triton_enable_empty_final_response";

// Adds to `header` what `request` asks of `model`: tensor, ops and options. INVALID_ARGUMENT or
// UNIMPLEMENTED, naming the field of ModelInferRequest.
absl::Status Translate(const inference::ModelInferRequest& request, const Model& model,
                       v1::ReduceRequest* header);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_REQUEST_H_
