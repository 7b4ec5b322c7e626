// What a client asks of one tensor, in terms that no protocol owns: as it was written, and as it
// has been checked.
//
// Step of a request: 1, wire to domain. A RequestSpec may say anything; a Request cannot be wrong,
// and holds the tensor or the region that its bytes are in. The functions are safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_REQUEST_REQUEST_H_
#define WARPFOLD_SERVER_CORE_REQUEST_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/core/base/caller.h"
#include "server/core/base/limits.h"
#include "server/core/regions/region_table.h"
#include "server/core/request/region_payload.h"
#include "server/core/request/task.h"
#include "server/core/tensors/tensor_lease.h"
#include "server/core/tensors/tensor_table.h"

namespace warpfold {

// Where the bytes of the tensor are.
struct InMessage {};  // they come with the request, or behind it
struct InTensor {     // of that id, resident
  std::string id;
};
struct InRegion {  // of the caller's
  std::string name;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
};
using SourceSpec = std::variant<InMessage, InTensor, InRegion>;

struct RequestSpec {
  std::string id;
  ReduceSpec reduce;
  // False: dtype and shape in `reduce` are not given; those of the resident tensor hold.
  bool has_tensor = true;
  SourceSpec source;
  // The tensor is this part of a larger one.
  struct PartOf {
    std::vector<std::int64_t> whole_shape;
    std::vector<std::int64_t> offset;
  };
  std::optional<PartOf> part;
  bool return_state = false;
  bool consume = false;
  std::uint32_t required_numerics_version = 0;
};

struct Request {
  std::string id;
  Plan plan;
  std::optional<Part> part;  // set when a state is wanted; `plan` is then the part's
  bool consume = false;
  // What holds the bytes; none: they come with the request, or behind it.
  std::variant<std::monostate, TensorReadLease, RegionPayload> source;

  // What has to come with the request, or behind it.
  std::int64_t payload_bytes() const {
    return std::holds_alternative<std::monostate>(source) ? plan.input_bytes : 0;
  }
  // Of the results, or of the state: at most.
  std::int64_t answer_bytes() const;

  // What a worker does for it, but for a payload that comes with it. `task` points to this.
  void FillTask(Task& task);
  // Lets go of the source, which ends if the request consumes it and was `answered`.
  void ReleaseSource(bool answered);
};

// Plans `spec`, whose tensor is given; the request holds no source. Errors are about a field
// (field_error.h). INVALID_ARGUMENT: wrong in any server. FAILED_PRECONDITION: of another numerics
// version. UNIMPLEMENTED: in the contract, not in this server. RESOURCE_EXHAUSTED that never fits:
// above a limit.
absl::StatusOr<Request> PlanRequest(RequestSpec spec, const Limits& limits);

// The same, for `caller`, with its source, which it holds from here on. Also NOT_FOUND,
// FAILED_PRECONDITION, PERMISSION_DENIED.
absl::StatusOr<Request> MakeRequest(RequestSpec spec, const Caller& caller, const Limits& limits,
                                    TensorTable& tensors, RegionTable& regions);

// `id` as it may stand in a log and in an answer, whatever a client wrote: no longer than the
// limit, and never cut within a character.
std::string CutRequestId(const std::string& id, const Limits& limits);

// INVALID_ARGUMENT `request_id`: longer than the limit.
absl::Status CheckRequestId(const std::string& id, const Limits& limits);
// FAILED_PRECONDITION `required_numerics_version`: neither 0 nor this server's.
absl::Status CheckNumericsVersion(std::uint32_t required);

// INVALID_ARGUMENT `ops`: more than the limit.
absl::Status CheckOpCount(std::size_t ops, const Limits& limits);

// RESOURCE_EXHAUSTED that never fits: the tensor, the results, or the state of `box`, are above the
// limit.
absl::Status CheckTensorBytes(const Plan& plan, const Limits& limits);
absl::Status CheckResultSize(const Plan& plan, const Limits& limits);
absl::Status CheckStateSize(const Plan& whole, const Box& box, const Limits& limits);

// At most. REQUIRES: output_count is within a limit on bytes, so that nothing overflows.
std::int64_t StateBytesOf(const Plan& whole, const Box& box);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REQUEST_REQUEST_H_
