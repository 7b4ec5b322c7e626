// A protobuf message as the bytes that a raw method sends.
#ifndef WARPFOLD_SERVER_FRONTEND_ENCODE_H_
#define WARPFOLD_SERVER_FRONTEND_ENCODE_H_

#include "absl/status/status.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"

namespace warpfold {

// INTERNAL: the message cannot be encoded, for example because it is above 2 GiB.
template <typename Message>
absl::Status Encode(const Message& message, grpc::ByteBuffer* out) {
  bool owned = false;
  if (grpc::SerializationTraits<Message>::Serialize(message, out, &owned).ok()) {
    return absl::OkStatus();
  }
  return absl::InternalError("the answer cannot be encoded");
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_ENCODE_H_
