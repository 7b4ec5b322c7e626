// A call with one request and one answer.
//
// Step of a request: 1. It waits for its turn to be read, --queue-timeout-ms at most, then for the
// request for --message-timeout-ms at most; then it is the method's, which sends the answer.
#ifndef WARPFOLD_SERVER_FRONTEND_UNARY_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_UNARY_CALL_H_

#include <atomic>
#include <chrono>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/read_line.h"
#include "server/frontend/answered_call.h"

namespace warpfold {

class UnaryCall : public AnsweredCall, private ReadLine::Member {
 public:
  using AnsweredCall::AnsweredCall;

 protected:
  // Takes the request, which has come whole, and may empty it; never waits. Either this or the
  // next comes, once.
  virtual void Serve(grpc::ByteBuffer* request) = 0;

  // The call is over before it had a request: counts and logs `status`, and sends it.
  virtual void Refuse(const absl::Status& status) = 0;

  // Whether it is read in its turn (read_line.h), or at once: what operators ask.
  virtual bool IsReadInLine() const { return false; }

  // It has waited so long for its turn.
  virtual void OnWaitedInLine(std::chrono::nanoseconds /*waited*/) {}

  // Before its request is read: whether there is room for such a call.
  virtual absl::Status TakePlace() { return EnterOpen(); }

 private:
  void BeginReading() final;
  bool OnTurn() final;
  // False: there is no place for it, and it is refused.
  bool Read();
  // The call is over before it was read.
  void RefuseUnread(const absl::Status& status);
  bool EndWaiting() final;
  void OnMessage(grpc::ByteBuffer* message) final;
  void OnWaitOverdue() final;
  // True for the first caller only: the request came, or it came too late.
  bool EndReceiving() { return receiving_.exchange(false); }

  std::atomic<bool> receiving_{true};
  std::chrono::steady_clock::time_point in_line_since_;
  std::chrono::milliseconds began_reading_at_{0};  // of the watchdog's time
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_UNARY_CALL_H_
