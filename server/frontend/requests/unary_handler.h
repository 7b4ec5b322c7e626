// What is done for a unary call once it may be: Reduce, Merge, a small call.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_UNARY_HANDLER_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_UNARY_HANDLER_H_

#include <chrono>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"

namespace warpfold {

class UnaryHandler {
 public:
  virtual ~UnaryHandler() = default;

  // Takes the request, which has come whole, and may empty it; never waits. Either this or the
  // next comes, once, and ends with the call's Send, from any thread; then the handler may be gone.
  virtual void Serve(grpc::ByteBuffer* request) = 0;
  // The call is over before it had a request: counts and logs `status`, and sends it.
  virtual void Refuse(const absl::Status& status) = 0;
  // The client is gone: the answer is not wanted. From any thread, before Send or after it.
  virtual void Cancel() {}
  // Before Serve: the call has waited so long for its turn to be read.
  virtual void OnWaitedInLine(std::chrono::nanoseconds /*waited*/) {}
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_UNARY_HANDLER_H_
