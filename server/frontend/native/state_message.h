// PartialState, the message by which the values of a part travel, to and from what they are here.
//
// Step of a request: 1 for Merge, and the way back of a request for a state. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_NATIVE_STATE_MESSAGE_H_
#define WARPFOLD_SERVER_FRONTEND_NATIVE_STATE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/part.h"
#include "kernels/values.h"
#include "server/core/base/limits.h"
#include "server/device/reduce/merge.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

v1::PartialState::Kind ToProto(ValueKind kind);

// `part`'s state, serialised. `values` has one string for each of ValueKindsOf(part.whole).
std::string EncodeState(const Part& part, std::vector<std::string> values);

// What is known of a message to Merge before it is parsed.
struct MergeOutline {
  std::int64_t message_bytes = 0;
  std::int64_t header_bytes = 0;  // of all that is not values
  std::int64_t states = 0;
  std::optional<std::int64_t> broken_state;  // the first that is no message

  // What parsing it holds beside it, at most.
  std::int64_t parsed_bytes() const;
};

// Walks through the message. Beside the states it has kHeaderBytesMax at most, so that they are not
// millions, and all states beside their values kStateHeaderBytesMax. INVALID_ARGUMENT `message`:
// malformed. RESOURCE_EXHAUSTED that never fits.
inline constexpr std::size_t kStateHeaderBytesMax = std::size_t{4} << 20;
absl::StatusOr<MergeOutline> OutlineMerge(grpc::ByteBuffer* message);

// State `i` is no message: INVALID_ARGUMENT `states[i]`.
absl::Status BrokenState(std::int64_t i);

// Empties `message`. INVALID_ARGUMENT `message`: malformed.
absl::Status ParseMerge(grpc::ByteBuffer* message, v1::MergeRequest* request);

// What a MergeRequest asks for. The values lie in `messages`.
struct Merging {
  Part merged;  // the union of the parts
  std::vector<PartValues> parts;
  std::vector<v1::PartialState> messages;
};

// Checks everything but the values themselves, which merging does. INVALID_ARGUMENT `states` or
// `states[i]...`; RESOURCE_EXHAUSTED that never fits: the results are above the limit.
absl::StatusOr<Merging> DecodeStates(const v1::MergeRequest& request, const Limits& limits);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_NATIVE_STATE_MESSAGE_H_
