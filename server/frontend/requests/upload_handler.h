// What is done with an upload (upload_call.h): ReduceStream reduces it, WriteTensor keeps it.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_UPLOAD_HANDLER_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_UPLOAD_HANDLER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

class UploadHandler {
 public:
  virtual ~UploadHandler() = default;

  // Parses a message but for its chunk. True when it has a header, which is then the handler's.
  virtual absl::StatusOr<bool> TakeHeader(const WireMessage& wire) = 0;
  // Makes of the header what it asks for, and expects it (Submission::Expect). The bytes that the
  // chunks have to bring.
  virtual absl::StatusOr<std::int64_t> AcceptHeader() = 0;
  // Admits and queues the task: enough of its chunks is here. It waited for `waited` until they
  // were read.
  virtual absl::Status Start(std::chrono::nanoseconds waited) = 0;
  // The call ends with `status` before its task was queued: counts, logs and sends it.
  virtual void Refuse(const absl::Status& status) = 0;

  // Of its task, for the call to cancel it, and to hold its bytes.
  virtual Submission& submission() = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_UPLOAD_HANDLER_H_
