// One call by the batches of gRPC's core: reads messages, one at a time, writes answers, one at a
// time, and ends with a status, which the last answer may go with.
//
// gRPC's reactors would do, but one that reads costs two changes of threads a call: of 4 KiB unary
// calls an answer took 1.3 times the processor time and p50 was 1.18 times as long (CPU backend, 2
// processors, 2026-11-25). Here a call whose answer is there at once makes three events, as one by
// gRPC's unary handler does: it comes, its message is whole, its answer is written.
//
// Step of a request: 1, and the way back. The reactions OnMessage, OnWritten, OnCancel and OnDone
// come on gRPC's threads, with no lock held, and do not wait; OnMessage one at a time, OnWritten,
// too, and OnDone last.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_CORE_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_CORE_CALL_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpc/grpc.h"
#include "grpcpp/impl/call.h"
#include "grpcpp/impl/call_op_set.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/callback_common.h"
#include "server/core/admission/connections.h"
#include "server/core/base/caller.h"
#include "server/frontend/wire/status.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

// A call that has come: its metadata are here.
struct ArrivedCall {
  grpc::CallbackServerContext* context;
  grpc::internal::Call* call;
  std::function<void()> release;  // lets gRPC forget it, and the context
  const Caller* caller = &Nobody();
  std::optional<ServerSpan> span = std::nullopt;  // where the client traces it
  // Keeps an anonymous caller; the call's connection.
  std::shared_ptr<Connection> at_address = nullptr;
};

// Until when the answer is wanted.
std::chrono::system_clock::time_point DeadlineOf(const grpc::ServerContextBase& context);

class CoreCall {
 public:
  explicit CoreCall(ArrivedCall arrived);
  CoreCall(const CoreCall&) = delete;
  CoreCall& operator=(const CoreCall&) = delete;
  virtual ~CoreCall() = default;

 protected:
  // The message that ReadNext asked for; null: there is none any more.
  virtual void OnMessage(grpc::ByteBuffer* message) = 0;
  // What Write sent is on its way to the client, as far as the client lets it; not `ok`: it never
  // will be, as the call is broken.
  virtual void OnWritten(bool /*ok*/) {}
  // The client is gone, or its deadline has passed: comes once at most, and only after
  // NoticeCancel.
  virtual void OnCancel() = 0;
  // gRPC is done with the call, which may be deleted in here.
  virtual void OnDone() = 0;

  // Between the two OnDone does not come, however the call ends.
  void BeginBatch() { batches_.fetch_add(1, std::memory_order_relaxed); }
  void EndBatch() ABSL_LOCKS_EXCLUDED(mutex_);

  // Never waits. Not while a read is under way.
  void ReadNext();

  // From now on the call hears of its client's end between messages, too. Once or more.
  void NoticeCancel();

  // Sends one answer, and more may follow. From any thread; not while another is being written.
  void Write(const grpc::ByteBuffer& answer);

  // Sends the answer, if `status` is OK and there is one, and the status, with the traceparent of
  // the server's span where the client traces the call, and ends the call. From any thread, once,
  // and not while an answer is being written; the call may be gone when it returns.
  void Finish(const absl::Status& status, const grpc::ByteBuffer& answer);

  // Ends what still waits for the client, whose address it returns. From any thread; none, and
  // without effect, once gRPC is done.
  std::optional<std::string> Abort() ABSL_LOCKS_EXCLUDED(mutex_);

  // In OnMessage of null: the client is gone, and did not just end its stream.
  bool IsBroken() const;
  grpc::CallbackServerContext& context() const { return *arrived_.context; }
  const Caller& caller() const { return *arrived_.caller; }
  // The anonymous caller's; null: the caller has shown a name.
  const std::shared_ptr<Connection>& at_address() const { return arrived_.at_address; }
  // Null: the client does not trace it.
  const ServerSpan* span() const { return arrived_.span.has_value() ? &*arrived_.span : nullptr; }

 private:
  // gRPC runs it when the operations that it was given to are done.
  struct Batch : grpc_completion_queue_functor {
    CoreCall* call = nullptr;
  };
  Batch MakeBatch(void (*run)(grpc_completion_queue_functor*, int));
  void Perform(const std::vector<grpc_op>& ops, Batch& batch);
  // What sends `answer`, behind the response's headers if they are not sent yet.
  std::vector<grpc_op> Sending(const grpc::ByteBuffer* answer);
  void OnRead(bool ok);
  void OnWrite(bool ok);
  void OnClosed();

  ArrivedCall arrived_;
  grpc::ByteBuffer received_;
  grpc::internal::CallOpSet<grpc::internal::CallOpRecvMessage<grpc::ByteBuffer>> read_;
  grpc::internal::CallbackWithSuccessTag on_read_;
  Batch close_;
  Batch write_;
  Batch finish_;
  bool has_sent_headers_ = false;
  grpc_byte_buffer* sent_ = nullptr;  // being written
  int cancelled_ = 0;
  std::atomic<bool> notices_{false};  // somebody has asked gRPC how the call ends
  std::atomic<int> batches_{1};       // under way; the last one's place is kept from the start
  WireStatus status_;                 // being sent
  std::vector<grpc_metadata> trailers_;
  grpc_slice message_;

  absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_CORE_CALL_H_
