// A call with one request and one answer.
//
// Step of a request: 1. It waits for its turn to be read, --queue-timeout-ms at most, then for the
// request for --message-timeout-ms at most; then it is its handler's, which sends the answer.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_UNARY_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_UNARY_CALL_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/read_line.h"
#include "server/frontend/calls/answered_call.h"
#include "server/frontend/calls/probe_places.h"
#include "server/frontend/requests/unary_handler.h"

namespace warpfold {

class UnaryCall final : public AnsweredCall, public ProbeCall, private ReadLine::Member {
 public:
  // When its request is read.
  enum class Reads {
    kInTurn,  // read_line.h
    kAtOnce   // what operators ask
  };
  // Makes the handler once there is something for it: a call that waits is no larger than it has to
  // be.
  using MakeHandler = std::function<std::unique_ptr<UnaryHandler>(UnaryCall&)>;

  // Begins to serve a call that has come; never waits. `make_handler` outlives it. `probes`: null,
  // or where it takes a place and needs no other room.
  static void Begin(Services& services, Method method, ArrivedCall arrived, Reads reads,
                    const MakeHandler& make_handler, ProbePlaces* probes = nullptr);

  UnaryCall(Services& services, Method method, ArrivedCall arrived, Reads reads,
            const MakeHandler& make_handler, ProbePlaces* probes)
      : AnsweredCall(services, method, std::move(arrived)),
        reads_(reads),
        make_handler_(make_handler),
        probes_(probes) {}
  ~UnaryCall() override;

 private:
  void BeginReading() override;
  bool OnTurn() override;
  // Before its request is read: whether there is room for such a call.
  absl::Status TakePlace();
  // False: there is no place for it, and it is refused.
  bool Read();
  // The call is over before it was read.
  void RefuseUnread(const absl::Status& status);
  bool EndWaiting() override;
  void EndForAnother() override;
  void OnMessage(grpc::ByteBuffer* message) override;
  void OnCancel() override { handler_->Cancel(); }
  // Made now. Once, by whoever has ended the waiting (EndReceiving).
  UnaryHandler& MakeHandlerNow();
  void OnWaitOverdue() override;
  // True for the first caller only: the request came, or it came too late.
  bool EndReceiving() { return receiving_.exchange(false); }

  const Reads reads_;
  const MakeHandler& make_handler_;
  ProbePlaces* const probes_;
  std::atomic<bool> receiving_{true};
  std::chrono::steady_clock::time_point in_line_since_;
  std::atomic<std::chrono::nanoseconds> waited_in_line_{std::chrono::nanoseconds(0)};
  std::chrono::milliseconds began_reading_at_{0};  // of the watchdog's time
  std::unique_ptr<UnaryHandler> handler_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_UNARY_CALL_H_
