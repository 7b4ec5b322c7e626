#include "server/frontend/encode.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "grpcpp/support/slice.h"
#include "server/device/host_bytes.h"

namespace warpfold {

absl::Status Encode(const google::protobuf::MessageLite& message, grpc::ByteBuffer* out) {
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    return absl::InternalError("the answer cannot be encoded");
  }
  grpc::Slice slice;
  if (bytes < kLargeBytes) {
    slice = grpc::Slice(bytes);
  } else {
    // Not gRPC's memory: where there is none, that ends the process.
    void* const block = AllocateOrNull(bytes);
    if (block == nullptr) return NoHostMemory();
    slice = grpc::Slice(block, bytes, std::free);
  }
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  grpc::ByteBuffer(&slice, 1).Swap(out);
  return absl::OkStatus();
}

}  // namespace warpfold
