// A protobuf message as the bytes that a raw method sends.
#ifndef WARPFOLD_SERVER_FRONTEND_ENCODE_H_
#define WARPFOLD_SERVER_FRONTEND_ENCODE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace warpfold {

// INTERNAL: the message cannot be encoded, for example because it is above 2 GiB.
template <typename Message>
absl::Status Encode(const Message& message, grpc::ByteBuffer* out) {
  constexpr std::size_t kOneSliceMax = std::size_t{1} << 20;  // above, gRPC cuts it
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes <= kOneSliceMax) {
    grpc::Slice slice(bytes);
    message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
    grpc::ByteBuffer(&slice, 1).Swap(out);
    return absl::OkStatus();
  }
  bool owned = false;
  if (grpc::SerializationTraits<Message>::Serialize(message, out, &owned).ok()) {
    return absl::OkStatus();
  }
  return absl::InternalError("the answer cannot be encoded");
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_ENCODE_H_
