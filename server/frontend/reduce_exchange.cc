#include "server/frontend/reduce_exchange.h"

#include <algorithm>
#include <utility>

#include "kernels/field_error.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"
#include "server/frontend/status.h"
#include "server/frontend/wire_message.h"

namespace warpfold {

absl::Status ReduceExchange::Read(grpc::ByteBuffer* buffer, TensorMessage* message) {
  absl::StatusOr<WireMessage> wire = WireMessage::Split(buffer, kDataField);
  if (!wire.ok()) return wire.status();
  if (absl::Status parsed = wire->ParseHeader(&message->header); !parsed.ok()) {
    message->header.Clear();  // what was read of it may be no UTF-8, and no answer can tell it
    return parsed;
  }
  if (!wire->has_payload()) return absl::OkStatus();
  const auto& sources = message->header.sources();
  if (!sources.empty() && std::ranges::all_of(sources, LiesElsewhere)) {
    return InvalidField(Field::kData, "the source lies elsewhere");
  }
  message->payload = wire->TakePayload();
  return absl::OkStatus();
}

absl::Status ReduceExchange::Write(const absl::Status& status, v1::ReduceResponse* response,
                                   grpc::ByteBuffer* out) {
  if (!status.ok()) return status;
  return Encode(*response, out);
}

grpc::ByteBuffer ReduceExchange::WriteItem(const std::string& request_id,
                                           const absl::Status& status,
                                           v1::ReduceResponse* response) {
  v1::ReduceManyResponse answer;
  answer.set_request_id(request_id);
  absl::Status encoded = status;
  grpc::ByteBuffer out;
  if (status.ok()) {
    answer.unsafe_arena_set_allocated_response(response);  // lent
    encoded = Encode(answer, &out);
    answer.unsafe_arena_release_response();
  }
  if (!encoded.ok()) {
    *answer.mutable_status() = ToRpcStatus(encoded);
    Encode(answer, &out).IgnoreError();  // a few bytes: it fits
  }
  return out;
}

}  // namespace warpfold
