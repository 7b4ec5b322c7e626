// A call that ends with one answer: what unary calls and those that send chunks have in common.
//
// Step of a request: the way back. It waits until the answer is on its way to the client for no
// longer than --write-idle-timeout-ms and the time that its bytes take at --min-bytes-per-s. What
// its ticket holds stays held until then.
//
// The call owns itself from Begin until gRPC is done with it.
#ifndef WARPFOLD_SERVER_FRONTEND_ANSWERED_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_ANSWERED_CALL_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission.h"
#include "server/core/watchdog.h"
#include "server/frontend/call_record.h"
#include "server/frontend/core_call.h"
#include "server/frontend/services.h"

namespace warpfold {

class AnsweredCall : public CoreCall, public Watched {
 public:
  AnsweredCall(Services& services, Method method, ArrivedCall arrived);

  // Lets the call own itself, and begin.
  static void Begin(std::shared_ptr<AnsweredCall> call);

 protected:
  // Never waits.
  virtual void BeginReading() = 0;

  // OverdueIn was called, and the time has passed with neither EndWait nor Send. On the watchdog's
  // thread; must not wait.
  virtual void OnWaitOverdue() = 0;
  void OverdueIn(std::chrono::milliseconds time) { services_.watchdog.DueIn(*this, time); }
  void EndWait();

  // The end: the answer if `status` is OK, else the status. `held` is let go of when that has been
  // written. From any thread, once; the call may be gone when it returns.
  void Send(const absl::Status& status, const grpc::ByteBuffer& answer, AdmissionTicket held);

  Services& call_services() { return services_; }
  Method method() const { return method_; }
  CallRecord& record() { return record_; }
  // The client's address, as gRPC writes it.
  std::string PeerName() const { return context().peer(); }

 private:
  void OnDone() final;
  void OnOverdue() final;

  Services& services_;
  const Method method_;
  CallRecord record_;
  std::shared_ptr<AnsweredCall> self_;  // from Begin to OnDone
  AdmissionTicket held_;                // while the answer is being written
  std::atomic<bool> sending_{false};
  std::chrono::milliseconds write_timeout_{0};  // from then on
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_ANSWERED_CALL_H_
