// Messages of warpfold.v1 in the terms of the server: a ReduceRequest as a RequestSpec, a tensor,
// an op; and back.
//
// Step of a request: 1, wire to domain. Below this nobody sees protobuf enums. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_NATIVE_DECODE_H_
#define WARPFOLD_SERVER_FRONTEND_NATIVE_DECODE_H_

#include "absl/status/statusor.h"
#include "kernels/plan.h"
#include "server/core/base/limits.h"
#include "server/core/request/request.h"
#include "server/core/tensors/tensor_lease.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

// What `message` asks for. Errors are about a field (field_error.h). INVALID_ARGUMENT: wrong in any
// server. UNIMPLEMENTED: in the contract, not in this server.
absl::StatusOr<RequestSpec> DecodeReduce(const v1::ReduceRequest& message);

// Whether its bytes do not come with the request.
inline bool LiesElsewhere(const v1::Source& source) {
  return source.where_case() != v1::Source::WHERE_NOT_SET;
}

// A tensor without its bytes, and the message that says so. Errors as above; RESOURCE_EXHAUSTED
// that never fits: above a limit.
absl::StatusOr<TensorShape> DecodeTensor(const v1::TensorSpec& message, const Limits& limits);
void FillTensor(const TensorShape& shape, v1::TensorSpec* message);

// The reduction that a state is of, the whole's. Errors as above; INVALID_ARGUMENT: above a limit.
absl::StatusOr<ReduceSpec> DecodeSpec(const v1::PartialState& state, const Limits& limits);

// `op`, and `correction` if it has one.
void FillOp(Op op, double correction, v1::OpSpec* message);

// The contract's names for what this server has.
v1::Op ToProto(Op op);
v1::DType ToProto(DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_NATIVE_DECODE_H_
