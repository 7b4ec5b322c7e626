// The payload of a tensor that came in one message: all of it is here already.
#ifndef WARPFOLD_SERVER_FRONTEND_MESSAGE_PAYLOAD_H_
#define WARPFOLD_SERVER_FRONTEND_MESSAGE_PAYLOAD_H_

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/core/task.h"
#include "server/frontend/wire_message.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class MessagePayload final : public PayloadSource {
 public:
  void Set(SliceRun bytes) { bytes_ = std::move(bytes); }
  void Clear() { bytes_.Clear(); }

  // The front end compared the byte count with the plan: `out` is always filled.
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    if (bytes_.ReadInto(out) == out.size()) return absl::OkStatus();
    return absl::InternalError("the payload is shorter than its plan");
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

 private:
  SliceRun bytes_;
};

// A request's message taken apart: everything but the payload in `header`.
struct TensorMessage {
  v1::ReduceRequest header;
  std::optional<SliceRun> payload;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_MESSAGE_PAYLOAD_H_
