// A job whose tensor comes in one message: what a call and an item of a stream have in common.
//
// Step of a request: 1. Thread safety is Job's; Take is the first call.
#ifndef WARPFOLD_SERVER_FRONTEND_MESSAGE_JOB_H_
#define WARPFOLD_SERVER_FRONTEND_MESSAGE_JOB_H_

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/exchange.h"
#include "server/frontend/job.h"
#include "server/frontend/message_payload.h"

namespace warpfold {

class MessageJob : public Job {
 public:
  MessageJob(Services& services, Method method, const Caller& caller,
             std::chrono::system_clock::time_point deadline, std::unique_ptr<Exchange> exchange)
      : Job(services, method, caller, deadline), exchange_(std::move(exchange)) {}

  // Reads, accepts and checks the request; empties `request`. INVALID_ARGUMENT `data`: not exactly
  // payload_bytes(). Errors are in the protocol's terms.
  absl::Status Take(grpc::ByteBuffer* request);

  // Admits and queues what was taken, as Submission::Start.
  absl::Status Start() {
    return Submission::Start({.payload = payload_bytes(), .results = answer_bytes()});
  }

  Exchange& exchange() { return *exchange_; }

 private:
  absl::Status Place(v1::ReduceResponse* response) override { return exchange_->Place(response); }
  void DropPayload() override { payload_.Clear(); }

  const std::unique_ptr<Exchange> exchange_;
  MessagePayload payload_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_MESSAGE_JOB_H_
