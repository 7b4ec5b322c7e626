#include "server/frontend/wire/small_message.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/core/base/refusal.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

absl::Status ParseSmall(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message) {
  grpc::ByteBuffer taken;
  taken.Swap(bytes);
  const std::size_t size = taken.Length();
  if (size > kHeaderBytesMax) {
    return RefusalStatus(NeverFits{}, absl::StrCat("message: has ", size,
                                                   " bytes, above the limit of ", kHeaderBytesMax));
  }
  grpc::ProtoBufferReader reader(&taken);
  if (size > 0 && !message->ParseFromZeroCopyStream(&reader)) {
    return MalformedMessage();
  }
  return absl::OkStatus();
}

}  // namespace warpfold
