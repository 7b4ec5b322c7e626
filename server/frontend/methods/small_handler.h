// A call without a tensor: one that is answered where it comes in, one that begins there and is
// answered by another thread, or one whose work is the system's, may take its time, and runs on a
// worker's thread, where it is admitted, queued and bounded as all tasks are. The others need room
// for their answers alone (AdmissionController::AdmitCall), and are not refused once they have done
// something: what does something has a tiny answer.
//
// Step of a request: 1. The reaction that brings the message parses, and answers or queues.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_SMALL_HANDLER_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_SMALL_HANDLER_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/request/task.h"
#include "server/frontend/calls/probe_places.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/calls/unary_call.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/requests/unary_handler.h"
#include "server/frontend/wire/small_message.h"

namespace warpfold {

class SmallHandler final : public UnaryHandler, private Submission::Owner {
 public:
  // How to serve `method`, by `answer(request, &response)`, which returns a status: at once, by an
  // answer that never waits, or on a worker's thread; or by `answer(request, &response, done)`,
  // which never waits and has `done(status)` called later. Either may take the Asker first
  // (small_message.h). `services` outlives it.
  template <typename Request, typename Response, typename Answer>
  static RawService::Served Here(Services& services, Method method, Answer answer) {
    return ServedBy(services, method, Where::kHere, ParserOf<Request, Response>(std::move(answer)));
  }
  // Here, and though there is no room for the answer: in one of `places`, which outlive the calls.
  template <typename Request, typename Response, typename Answer>
  static RawService::Served Probe(Services& services, Method method, ProbePlaces& places,
                                  Answer answer) {
    return ServedBy(services, method, Where::kHere, ParserOf<Request, Response>(std::move(answer)),
                    &places);
  }
  template <typename Request, typename Response, typename Answer>
  static RawService::Served Later(Services& services, Method method, Answer answer) {
    return ServedBy(services, method, Where::kHere,
                    ParserOfLater<Request, Response>(std::move(answer)));
  }
  template <typename Request, typename Response, typename Answer>
  static RawService::Served OnWorker(Services& services, Method method, Answer answer) {
    return ServedBy(services, method, Where::kOnWorker,
                    ParserOf<Request, Response>(std::move(answer)));
  }

  enum class Where { kHere, kOnWorker };

  // All but `where` and `needs_room` outlive it.
  SmallHandler(Services& services, Method method, UnaryCall& call, Where where, bool needs_room,
               const ParseRequest& parse)
      : services_(services),
        method_(method),
        call_(call),
        where_(where),
        needs_room_(needs_room),
        parse_(parse),
        submission_(services, call.caller(), call.deadline(), *this) {}

 private:
  static RawService::Served ServedBy(Services& services, Method method, Where where,
                                     ParseRequest parse, ProbePlaces* probes = nullptr);
  void Serve(grpc::ByteBuffer* request) override;
  void Refuse(const absl::Status& status) override { End(status); }
  void Cancel() override { submission_.Cancel(); }
  void AnswerHere();
  absl::StatusOr<Outcome> RunOnWorker();
  void OnDone(TaskReport report) override;
  // Counts, logs and sends; refuses an answer that has no room.
  void End(absl::Status status);

  Services& services_;
  const Method method_;
  UnaryCall& call_;
  const Where where_;
  const bool needs_room_;
  const ParseRequest& parse_;
  SmallRequest request_;
  Subject subject_;
  grpc::ByteBuffer answer_;
  Submission submission_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_SMALL_HANDLER_H_
