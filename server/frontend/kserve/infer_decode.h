// ModelInferRequest in the terms of core/request.h.
//
// Step of a request: 1. What both protocols check alike is left to PlanRequest: axes, sizes,
// limits. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_DECODE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_DECODE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/core/request/request.h"
#include "server/frontend/kserve/models.h"

namespace warpfold::kserve {

inline constexpr char kMarkFinal[] = "triton_enable_empty_final_response";

// Where outputs go: a region, or, with none, the answer.
using OutputPlaces = std::vector<std::optional<InRegion>>;

// Adds to `spec` what `request` asks of `model`: tensor, ops, options and the input's region. The
// places are those of the outputs, in the order of the ops. INVALID_ARGUMENT, naming the field of
// ModelInferRequest.
absl::StatusOr<OutputPlaces> DecodeInfer(const inference::ModelInferRequest& request,
                                         const Model& model, RequestSpec* spec);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_DECODE_H_
