// A ReduceRequest as the client wrote it, turned once into a domain request that cannot be wrong.
//
// Step of a request: 1, wire to domain. Below this nobody sees protobuf enums, strings or unchecked
// sizes. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_DECODE_H_
#define WARPFOLD_SERVER_FRONTEND_DECODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/core/limits.h"
#include "server/core/tensor_lease.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

struct Request {
  std::string request_id;
  Plan plan;
  std::optional<Part> part;  // set when a state is wanted; `plan` is then the part's
  bool consume = false;
};

// The source of the values, which is the only one: `sources`, or `sources[i].role`, is refused
// otherwise.
absl::StatusOr<const v1::Source*> FindValues(const v1::ReduceRequest& message);

// Whether its bytes do not come with the request.
inline bool LiesElsewhere(const v1::Source& source) {
  return source.where_case() != v1::Source::WHERE_NOT_SET;
}

// Checks everything but the payload; `values` is what FindValues has found in `message`. Errors are
// about a field (field_error.h). INVALID_ARGUMENT: wrong in any server. UNIMPLEMENTED: in the
// contract, not in this server. RESOURCE_EXHAUSTED that never fits: above a limit.
absl::StatusOr<Request> DecodeRequest(const v1::ReduceRequest& message, const v1::Source& values,
                                      const Limits& limits);

// The same for a tensor of `shape` that is on a device; its source, which FindValues has found, may
// leave `tensor` out.
absl::StatusOr<Request> DecodeResident(const v1::ReduceRequest& message, const TensorShape& shape,
                                       const Limits& limits);

// A tensor without its bytes, and the message that says so. Errors as above.
absl::StatusOr<TensorShape> DecodeTensor(const v1::TensorSpec& message, const Limits& limits);
void FillTensor(const TensorShape& shape, v1::TensorSpec* message);

// The reduction that a state is of, the whole's. Errors as above.
absl::StatusOr<ReduceSpec> DecodeSpec(const v1::PartialState& state, const Limits& limits);

// INVALID_ARGUMENT `request_id`: longer than the limit.
absl::Status CheckRequestId(const std::string& request_id, const Limits& limits);
// FAILED_PRECONDITION `required_numerics_version`: neither 0 nor this server's.
absl::Status CheckNumericsVersion(std::uint32_t required);

// RESOURCE_EXHAUSTED that never fits: the results, or the state of `box`, are above the limit.
absl::Status CheckResultSize(const Plan& plan, const Limits& limits);
absl::Status CheckStateSize(const Plan& whole, const Box& box, const Limits& limits);

// At most. REQUIRES: output_count is within a limit on bytes, so that nothing overflows.
std::int64_t StateBytesOf(const Plan& whole, const Box& box);

// Of the answer to `request`: its results, or its state.
std::int64_t AnswerBytes(const Request& request);

// `op`, and `correction` if it has one.
void FillOp(Op op, double correction, v1::OpSpec* message);

// The contract's names for what this server has.
v1::Op ToProto(Op op);
v1::DType ToProto(DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_DECODE_H_
