// One tensor from the request to the answer, whatever its protocol and whatever brought it.
//
// Step of a request: 1, and the way back. A request that comes in one message is taken (Take), one
// whose tensor comes in chunks is accepted (Accept); then it is started, or refused. Take, Accept,
// Start and Refuse are called by one reaction; Cancel, and its halves, from any thread. What was
// started or refused ends with one Reply::Send, of what was started where OnDone comes
// (submission.h).
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_REDUCTION_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_REDUCTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/request/request.h"
#include "server/core/request/task.h"
#include "server/frontend/requests/codec.h"
#include "server/frontend/requests/reply.h"
#include "server/frontend/requests/services.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/requests/unary_handler.h"
#include "server/frontend/wire/wire_message.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

class Reduction final : public UnaryHandler, private Submission::Owner {
 public:
  // `services` and `reply` outlive it.
  Reduction(Services& services, Method method, std::unique_ptr<Codec> codec, Reply& reply);

  // Of a whole message, which it empties: decodes, checks and plans it. A resident tensor or a
  // region is held from here on until the answer. Errors are in the protocol's terms;
  // INVALID_ARGUMENT `data`: it has not what the tensor describes.
  absl::Status Take(grpc::ByteBuffer* message);
  // The same of a request whose tensor comes from `chunks`; errors name the fields of warpfold.v1.
  absl::Status Accept(RequestSpec spec, PayloadSource& chunks);

  // For one that is refused before it is accepted: the id under which that is logged.
  void Identify(const std::string& id);

  // Admits and queues it. On OK it may have its answer, and be gone.
  absl::Status Start();
  // Of one whose tensor comes in chunks, before Start, which its ticket holds as they come: what
  // Start would say now.
  absl::Status Expect();

  // Counts and logs that it ends with `status`, before or in Start, and sends it.
  void Refuse(const absl::Status& status) override;

  // Take and Start, or Refuse.
  void Serve(grpc::ByteBuffer* message) override;
  void Cancel() override { submission_.Cancel(); }
  void OnWaitedInLine(std::chrono::nanoseconds waited) override {
    submission_.AddQueueTime(waited);
  }

  // From Take on: its tensor came with the message.
  bool HasPayload() const { return request_.payload_bytes() > 0; }

  Submission& submission() { return submission_; }
  const Plan& plan() const { return request_.plan; }

 private:
  absl::Status Make(RequestSpec spec);
  void OnDone(TaskReport report) override;
  Answer AnswerOf(TaskReport& report) const;
  // Once: one that is sent twice would be written into another call.
  void Send(const absl::Status& status, Answer* answer, AdmissionTicket held);
  void Record(const absl::Status& status, const TaskReport& report,
              std::chrono::steady_clock::time_point reply_start) const;

  Services& services_;
  const Method method_;
  const std::unique_ptr<Codec> codec_;
  Reply& reply_;
  Request request_;
  bool is_planned_ = false;
  bool is_answered_ = false;
  MessagePayload payload_;
  Submission submission_;  // last: its task points to the above
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_REDUCTION_H_
