// One request and its answer as a protocol writes them: what Reduce and ModelInfer differ in, and
// the items of ReduceMany and ModelStreamInfer.
//
// Step of a request: 1, and the way back. Between the two ends a request is in the terms of
// core/request.h, whatever its protocol. Decode comes once and first; Place, of a request that was
// reduced, next; then, once, Encode. One thread at a time.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_CODEC_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_CODEC_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/request/request.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

// A request in one message, taken apart.
struct Decoded {
  RequestSpec spec;
  std::optional<SliceRun> payload;
};

// How long a request took, and its stages.
struct AnswerTimes {
  std::chrono::nanoseconds receive{0};
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds host_to_device{0};
  std::chrono::nanoseconds kernel{0};
  std::chrono::nanoseconds device_to_host{0};
  std::chrono::nanoseconds total{0};
};

// What a request came to.
struct Answer {
  std::vector<std::string> results;  // one string an op; of a part one a value kind
  std::string device;                // empty: none was asked
  AnswerTimes times;
};

class Codec {
 public:
  virtual ~Codec() = default;

  // Takes the request apart. On error `decoded->spec.id` is the request's id when that could be
  // read. Errors are in the protocol's terms.
  virtual absl::Status Decode(grpc::ByteBuffer* message, Decoded* decoded) = 0;

  // `status`, which names the fields of warpfold.v1, in the protocol's terms.
  virtual absl::Status TranslateError(const absl::Status& status) const = 0;

  // Takes those results out of `answer` that the request wants somewhere else, and puts them
  // there. Errors, in the protocol's terms, are the request's.
  virtual absl::Status WriteOutputs(Answer& /*answer*/) { return absl::OkStatus(); }

  // True: Place waits for a device. Asked after Decode.
  virtual bool WritesToDevice() const { return false; }

  // The answer to `request`, of which `id` may be all there is: `answer`, which may be taken apart,
  // when `status` is OK. Returns the call's status, with the message in `message` when that is OK,
  // as it is of an item of a stream, whose message holds the status.
  virtual absl::Status Encode(const Request& request, const absl::Status& status, Answer* answer,
                              grpc::ByteBuffer* message) = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_CODEC_H_
