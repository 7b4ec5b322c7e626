// Whether a ModelInferRequest may be parsed.
//
// Step of a request: 1, wire to domain. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_MESSAGE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_MESSAGE_H_

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"

namespace warpfold::kserve {

// RESOURCE_EXHAUSTED that never fits: above kHeaderBytesMax beside raw_input_contents and the
// elements in inputs.contents. Looks at no more of what is. Malformed bytes are left to the parser.
absl::Status CheckInferMessage(grpc::ByteBuffer* message);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFER_MESSAGE_H_
