// A call with any number of answers, written one at a time: what reflection and Health's Watch have
// in common.
//
// Step of a request: 1, and the way back. There are so many calls of a kind at a time; one more is
// refused before it is read. Messages are read one at a time, when the call asks for the next, and
// waited for --message-timeout-ms each. Who does not read an answer is let go as one who does not
// read a unary call's (answered_call.h).
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_STREAMED_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_STREAMED_CALL_H_

#include <chrono>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/calls/answered_call.h"

namespace warpfold {

class StreamedCall : public AnsweredCall {
 public:
  using AnsweredCall::AnsweredCall;

 protected:
  enum class Doing { kNothing, kReading, kWriting, kEnded };

  // At the call's beginning, once: its place among the calls of its kind, given back when the call
  // is destroyed. Or why it has none, with which it ends.
  virtual absl::Status TakePlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The message that AwaitRequest asked for. Null: the client sends no more.
  virtual void OnRequest(grpc::ByteBuffer* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual void OnAnswerWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // REQUIRES: the call does nothing.
  void AwaitRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteAnswer(const google::protobuf::MessageLite& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The client has no more than `time` to read the answer that is being written.
  void HurryAnswer(std::chrono::milliseconds time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: the call has not ended, and writes nothing.
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Doing doing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return doing_; }

  absl::Mutex mutex_;

 private:
  void BeginReading() final ABSL_LOCKS_EXCLUDED(mutex_);
  void OnMessage(grpc::ByteBuffer* message) final ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWritten(bool ok) final ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() final ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWaitOverdue() final ABSL_LOCKS_EXCLUDED(mutex_);
  void EndCancelled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Doing doing_ ABSL_GUARDED_BY(mutex_) = Doing::kNothing;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_hurried_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the answer that is being written.
  std::size_t writing_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::chrono::milliseconds write_timeout_ ABSL_GUARDED_BY(mutex_){0};
};

// Says that there is no place: `places_max` calls of `method` are open, as many as `option` allows.
// RESOURCE_EXHAUSTED with RetryLater.
absl::Status NoPlaceFor(Method method, int places_max, const char* option);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_STREAMED_CALL_H_
