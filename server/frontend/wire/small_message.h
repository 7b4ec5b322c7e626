// Requests that have names and numbers in them and no tensor: as messages, and as what is to be
// done.
//
// Step of a request: 1, wire to domain. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_WIRE_SMALL_MESSAGE_H_
#define WARPFOLD_SERVER_FRONTEND_WIRE_SMALL_MESSAGE_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/base/caller.h"
#include "server/frontend/wire/wire_message.h"
#include "server/observe/log/access_log.h"

namespace warpfold {

// INVALID_ARGUMENT `message`: it is none. RESOURCE_EXHAUSTED that never fits: above
// kHeaderBytesMax. Empties `bytes`.
absl::Status ParseSmall(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message);

// What is told how a request ended: once, from any thread.
using SmallDone = std::function<void(const absl::Status&)>;

// Who asks, and what of the server it is about, which the answer notes for the access log before it
// calls `done`. Both outlive that.
struct Asker {
  const Caller& caller;
  Subject& subject;
};

// A request that has been parsed.
struct SmallRequest {
  std::string id;  // empty where the message has none
  // Does it for its caller, writes the answer, then calls `done`.
  std::function<void(const Asker& asker, grpc::ByteBuffer* answer, SmallDone done)> run;
};
using ParseRequest = std::function<absl::StatusOr<SmallRequest>(grpc::ByteBuffer*)>;

// How to read a Request and do what it says by `answer(request, &response, done)`, where `done` is
// a SmallDone and the other two are there until it is called. An answer that depends on who asks,
// or notes what it is about, takes that first: `answer(asker, request, &response, done)`.
template <typename Request, typename Response, typename Answer>
ParseRequest ParserOfLater(Answer answer) {
  return [answer = std::move(answer)](grpc::ByteBuffer* bytes) -> absl::StatusOr<SmallRequest> {
    auto request = std::make_shared<Request>();
    if (absl::Status parsed = ParseSmall(bytes, request.get()); !parsed.ok()) return parsed;
    SmallRequest small;
    if constexpr (requires { request->request_id(); }) small.id = request->request_id();
    small.run = [answer, request](const Asker& asker, grpc::ByteBuffer* out, SmallDone done) {
      auto response = std::make_shared<Response>();
      SmallDone encode = [request, response, out,
                          done = std::move(done)](const absl::Status& status) {
        done(status.ok() ? Encode(*response, out) : status);
      };
      if constexpr (std::is_invocable_v<Answer, const Asker&, const Request&, Response*,
                                        SmallDone>) {
        answer(asker, *request, response.get(), std::move(encode));
      } else {
        answer(*request, response.get(), std::move(encode));
      }
    };
    return small;
  };
}

// The same for an `answer(request, &response)`, or `answer(asker, request, &response)`, that
// returns its status.
template <typename Request, typename Response, typename Answer>
ParseRequest ParserOf(Answer answer) {
  return ParserOfLater<Request, Response>(
      [answer = std::move(answer)](const Asker& asker, const Request& request, Response* response,
                                   const SmallDone& done) {
        if constexpr (std::is_invocable_v<Answer, const Asker&, const Request&, Response*>) {
          done(answer(asker, request, response));
        } else {
          done(answer(request, response));
        }
      });
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_WIRE_SMALL_MESSAGE_H_
