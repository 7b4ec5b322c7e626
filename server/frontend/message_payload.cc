#include "server/frontend/message_payload.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace warpfold {

absl::StatusOr<TensorMessage> ParseTensorMessage(grpc::ByteBuffer* buffer) {
  absl::StatusOr<WireMessage> wire = WireMessage::Split(buffer, "data");
  if (!wire.ok()) return wire.status();
  TensorMessage message{.header = {}, .wire = *std::move(wire)};
  if (absl::Status parsed = message.wire.ParseHeader(&message.header); !parsed.ok()) return parsed;
  if (message.wire.has_payload() &&
      message.header.source_case() != v1::ReduceRequest::SOURCE_NOT_SET) {
    return absl::InvalidArgumentError("data: a request has one source, and another one is set too");
  }
  return message;
}

absl::Status CheckData(const WireMessage& wire, std::int64_t payload_bytes) {
  if (!wire.has_payload() && payload_bytes > 0) {
    return absl::InvalidArgumentError("data: the request has no source");
  }
  if (static_cast<std::int64_t>(wire.payload_bytes()) != payload_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("data: has ", wire.payload_bytes(),
                                                   " bytes, but tensor describes ", payload_bytes));
  }
  return absl::OkStatus();
}

}  // namespace warpfold
