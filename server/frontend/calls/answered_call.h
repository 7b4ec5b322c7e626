// A call that ends with one answer: what unary calls and those that send chunks have in common.
//
// Step of a request: the way back. It waits until the answer is on its way to the client for no
// longer than --write-idle-timeout-ms and the time that its bytes take at --min-bytes-per-s, and
// gives way sooner while others are refused for want of bytes. Until then its ticket holds the
// answer's bytes, and what a call is; one that has no ticket counts among the open calls
// (open_calls.h), as it may while it waits for its client.
//
// The call owns itself from Begin until gRPC is done with it.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_ANSWERED_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_ANSWERED_CALL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/admission.h"
#include "server/core/base/watchdog.h"
#include "server/frontend/calls/core_call.h"
#include "server/frontend/requests/reply.h"
#include "server/frontend/requests/services.h"

namespace warpfold {

class AnsweredCall : public CoreCall, public Watched, public Reply {
 public:
  AnsweredCall(Services& services, Method method, ArrivedCall arrived);

  // Lets the call own itself, and begin.
  static void Begin(std::shared_ptr<AnsweredCall> call);

  const Caller& caller() const final { return CoreCall::caller(); }
  std::chrono::steady_clock::time_point arrival() const final { return start_; }
  std::chrono::system_clock::time_point deadline() const final { return DeadlineOf(context()); }
  std::string PeerName() const final { return context().peer(); }
  const ServerSpan* span() const final { return CoreCall::span(); }
  void Send(const absl::Status& status, grpc::ByteBuffer& answer, AdmissionTicket held) final;
  // The same of a call that has no tensor, and which has its access line here, with what is
  // `named`.
  struct Named {
    std::string_view request_id = {};
    const Subject* subject = nullptr;
  };
  void LogAndSend(const absl::Status& status, const Named& named, grpc::ByteBuffer& answer,
                  AdmissionTicket held);
  void LogAndSend(const absl::Status& status);

  // What the call is charged while its answer is unread, beside that.
  std::int64_t call_bytes() const { return services_.admission.open_calls().call_bytes(); }
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - start_; }

 protected:
  // Never waits.
  virtual void BeginReading() = 0;

  // OverdueIn was called, and the time has passed with neither EndWait nor Send. On the watchdog's
  // thread; must not wait.
  virtual void OnWaitOverdue() = 0;
  void OverdueIn(std::chrono::milliseconds time) { services_.watchdog.DueIn(*this, time); }
  void EndWait();

  // From now on it counts among the open calls, and gives way to others when it has waited for long
  // (EndWaiting). RESOURCE_EXHAUSTED with RetryLater: too many do.
  absl::Status EnterOpen();
  void LeaveOpen();
  // Others miss open calls: ends this one with GaveWay, if it waits for its client now. On the
  // watchdog's thread; must not wait.
  virtual bool EndWaiting() { return false; }

  Services& call_services() { return services_; }
  Connection& connection() { return *connection_; }
  Method method() const { return method_; }
  Peer PeerAt(std::string address) const { return {std::move(address), caller().name, span()}; }

 private:
  void OnDone() final;
  void OnOverdue() final;
  bool GiveWay(Shortage& shortage) final;

  Services& services_;
  const Method method_;
  const std::shared_ptr<Connection> connection_;
  const std::chrono::steady_clock::time_point start_;
  std::shared_ptr<AnsweredCall> self_;  // from Begin to OnDone
  OpenCalls::Place open_;               // from EnterOpen to LeaveOpen
  AdmissionTicket held_;                // while the answer is being written
  std::atomic<bool> sending_{false};
  bool holds_bytes_ = false;                    // from then on
  std::size_t answer_bytes_ = 0;                // from then on
  std::chrono::milliseconds write_timeout_{0};  // and this
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_ANSWERED_CALL_H_
