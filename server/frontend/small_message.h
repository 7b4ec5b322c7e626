// Requests that have names and numbers in them and no tensor: as messages, and as what is to be
// done.
//
// Step of a request: 1, wire to domain. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_SMALL_MESSAGE_H_
#define WARPFOLD_SERVER_FRONTEND_SMALL_MESSAGE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/encode.h"

namespace warpfold {

// INVALID_ARGUMENT `message`: it is none. RESOURCE_EXHAUSTED that never fits: above
// kHeaderBytesMax. Empties `bytes`.
absl::Status ParseSmall(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message);

// A request that has been parsed.
struct SmallRequest {
  std::string id;                                      // empty where the message has none
  std::function<absl::Status(grpc::ByteBuffer*)> run;  // does it, and writes the answer
};
using ParseRequest = std::function<absl::StatusOr<SmallRequest>(grpc::ByteBuffer*)>;

// How to read a Request and do what it says by `answer(request, &response)`, which returns a
// status.
template <typename Request, typename Response, typename Answer>
ParseRequest ParserOf(Answer answer) {
  return [answer = std::move(answer)](grpc::ByteBuffer* bytes) -> absl::StatusOr<SmallRequest> {
    auto request = std::make_shared<Request>();
    if (absl::Status parsed = ParseSmall(bytes, request.get()); !parsed.ok()) return parsed;
    SmallRequest small;
    if constexpr (requires { request->request_id(); }) small.id = request->request_id();
    small.run = [answer, request](grpc::ByteBuffer* out) -> absl::Status {
      Response response;
      if (absl::Status status = answer(*request, &response); !status.ok()) return status;
      return Encode(response, out);
    };
    return small;
  };
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_SMALL_MESSAGE_H_
