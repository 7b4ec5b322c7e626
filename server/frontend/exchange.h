// One request and its answer as a protocol writes them: what Reduce and ModelInfer differ in, and
// the items of ReduceMany and ModelStreamInfer.
//
// Step of a request: 1, and the way back. Between the two ends a request is in the terms of
// warpfold.v1, whatever its protocol. Read comes once and first; Place, of a request that was
// reduced, next; then, once, Write or WriteItem. One thread at a time.
#ifndef WARPFOLD_SERVER_FRONTEND_EXCHANGE_H_
#define WARPFOLD_SERVER_FRONTEND_EXCHANGE_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/message_payload.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Takes the request apart. On error `message->header` has the request's id when that could be
  // read. Errors are in the protocol's terms.
  virtual absl::Status Read(grpc::ByteBuffer* buffer, TensorMessage* message) = 0;

  // `status`, which names the fields of warpfold.v1, in the protocol's terms.
  virtual absl::Status Told(const absl::Status& status) const = 0;

  // Takes those results out of `response` that the request wants somewhere else, and puts them
  // there. Errors, in the protocol's terms, are the request's.
  virtual absl::Status Place(v1::ReduceResponse* /*response*/) { return absl::OkStatus(); }

  // True: Place waits for a device. Asked after Read.
  virtual bool PlacesOnDevice() const { return false; }

  // The answer of a whole call: `response`, which may be taken apart, when `status` is OK. Returns
  // the call's status, with the message in `out` when that is OK.
  virtual absl::Status Write(const absl::Status& status, v1::ReduceResponse* response,
                             grpc::ByteBuffer* out) = 0;

  // The answer of an item of a stream: its message, `status` and all.
  virtual grpc::ByteBuffer WriteItem(const std::string& request_id, const absl::Status& status,
                                     v1::ReduceResponse* response) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_EXCHANGE_H_
