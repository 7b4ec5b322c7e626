// One streaming call in progress, of any method that takes a stream: one message in the transport
// at a time, and always one read, until the server has ended the call.
//
// Letting gRPC buffer more (buffer_hint and a 4 MiB write buffer) gained nothing: 3.2 GB/s against
// 3.3 (null server, 256 MiB, H200 host, 2026-11-21).
//
// Thread safety: belongs to the thread that makes the call, and ends it with the object: every
// operation that was started is awaited.
#ifndef WARPFOLD_CLIENT_CPP_STREAM_CALL_H_
#define WARPFOLD_CLIENT_CPP_STREAM_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "client/cpp/call_scope.h"
#include "client/cpp/connection.h"

namespace warpfold::client {

class StreamCall {
 public:
  // `connection` outlives it.
  StreamCall(Connection& connection, const char* method, const CallLimits& limits);
  ~StreamCall();  // cancels what has not ended
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;

  // Sends one message and waits until the transport took it, reading meanwhile. False when the call
  // is over, or closed.
  bool Write(const grpc::ByteBuffer& message, const grpc::WriteOptions& options);

  // The next message. False when none has come by `until`, or none ever will.
  bool Read(std::chrono::system_clock::time_point until, grpc::ByteBuffer& message);

  // Says that nothing more is sent.
  void Close();

  // Waits for the end of the call.
  const grpc::Status& Finish();

  // The server has answered, or ended the call.
  bool has_answer() const { return ended_ || !inbox_.empty(); }
  // Nothing is left to be read.
  bool over() const { return ended_ && inbox_.empty(); }
  // REQUIRES: Finish was called.
  std::optional<std::int64_t> PushbackTrailer() const { return context_.PushbackTrailer(); }
  // For messages that lend their payload.
  CallScope& scope() { return scope_; }

 private:
  bool AwaitWritten();
  void Next();
  // Handles the next event, if one comes by `until`; false when that has passed. A call that has
  // been silent for too long is cancelled.
  bool NextUntil(std::chrono::system_clock::time_point until);
  void Handle(Tag tag, bool ok);

  CallScope scope_;
  CallContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer incoming_;           // of the read under way
  std::deque<grpc::ByteBuffer> inbox_;  // read, and not yet taken
  std::optional<bool> written_;
  bool closed_ = false;  // nothing more is sent
  bool ended_ = false;   // nothing more comes
  bool finished_ = false;
  Silence* silence_;        // null: the context has a deadline
  bool timed_out_ = false;  // cancelled because of silence_
  grpc::Status status_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_STREAM_CALL_H_
