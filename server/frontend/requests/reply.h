// Where the answer of one request goes, whatever brought it: a call, an upload, an item of a
// stream.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_REPLY_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_REPLY_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/admission.h"
#include "server/core/base/caller.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

class Reply {
 public:
  virtual ~Reply() = default;

  // Who asked, since when and until when the answer is wanted, and the client's address as gRPC
  // writes it.
  virtual const Caller& caller() const = 0;
  virtual std::chrono::steady_clock::time_point arrival() const = 0;
  virtual std::chrono::system_clock::time_point deadline() const = 0;
  virtual std::string PeerName() const = 0;
  // The server's, in the client's trace; null: the client traces nothing.
  virtual const ServerSpan* span() const = 0;

  // No more of the request is wanted: lets go of what has come of its tensor. Before Send, while
  // the request still has its ticket.
  virtual void StopReceiving() {}

  // The end: `answer` if `status` is OK, else the status. The request's place in `held` ends, and
  // the rest of it when the answer is written; of a refusal it is empty. From any thread, once; the
  // reply, and the request that it is of, may be gone when it returns.
  virtual void Send(const absl::Status& status, grpc::ByteBuffer& answer, AdmissionTicket held) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_REPLY_H_
