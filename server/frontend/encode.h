// A protobuf message as the bytes that a raw method sends.
//
// Step of a request: the way back. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_ENCODE_H_
#define WARPFOLD_SERVER_FRONTEND_ENCODE_H_

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"

namespace warpfold {

// INTERNAL: the message is above 2 GiB, which none can be. RESOURCE_EXHAUSTED: NoHostMemory
// (host_bytes.h).
absl::Status Encode(const google::protobuf::MessageLite& message, grpc::ByteBuffer* out);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_ENCODE_H_
