// A MergeRequest with its partial states: outlined before it is parsed, then decoded or refused.
#include "server/core/base/limits.h"
#include "server/frontend/native/state_message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_bytes.h"

namespace warpfold {
namespace {

absl::Status Decode(grpc::ByteBuffer* buffer) {
  const absl::StatusOr<MergeOutline> outline = OutlineMerge(buffer);
  if (!outline.ok()) return outline.status();
  if (outline->broken_state.has_value()) return BrokenState(*outline->broken_state);
  v1::MergeRequest request;
  if (absl::Status parsed = ParseMerge(buffer, &request); !parsed.ok()) return parsed;
  fuzz::Require(outline->states == request.states_size(), "the outline counts the states");
  const absl::StatusOr<Merging> merging = DecodeStates(request, Limits());
  if (!merging.ok()) return merging.status();
  fuzz::Require(!merging->parts.empty(), "what merges has parts");
  return absl::OkStatus();
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  grpc::ByteBuffer buffer = warpfold::fuzz::MessageOf(data, size);
  if (const absl::Status status = warpfold::Decode(&buffer); !status.ok()) {
    warpfold::fuzz::RequireRefusal(status);
  }
  return 0;
}
