// A call whose first message is a header and whose others are chunks: what ReduceStream and
// WriteTensor have in common.
//
// Step of a request: 1. The reaction that brings the header lets the method decode, admit and
// queue; further messages are read only once a lane asks for them. A client that never sends its
// header is let go by an alarm, one that falls silent later by the lane's own wait.
//
// The reactor deletes itself when gRPC and the alarm are done with it.
#ifndef WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/call_record.h"
#include "server/frontend/stream_payload.h"
#include "server/frontend/submission.h"
#include "server/frontend/wire_message.h"

namespace warpfold {

class ChunkStreamCall : public grpc::ServerReadReactor<grpc::ByteBuffer>, private ChunkReader {
 public:
  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { Unref(); }

 protected:
  // `work` is the method's own, and outlives this.
  ChunkStreamCall(Submission& work, Method method, grpc::CallbackServerContext* context);

  // Reads the header; never waits.
  void BeginReading();

  // Parses a message but for its chunk. True when it has a header, which is then the method's.
  virtual absl::StatusOr<bool> TakeHeader(const WireMessage& wire) = 0;
  // Makes of the header what it asks for, promises its bytes to chunks(), and starts the work.
  virtual absl::Status ServeHeader() = 0;
  // The call ends with `status` before its work was queued: counts it and calls FinishWith.
  virtual void RefuseWith(const absl::Status& status) = 0;

  // Sends the answer, or the error. Last call.
  void FinishWith(const absl::Status& status);

  StreamPayload& chunks() { return chunks_; }
  std::string PeerName() const { return context_->peer(); }
  CallRecord& record() { return record_; }

 private:
  // True for the first caller only: the header came, or it came too late.
  bool EndHeaderPhase() { return header_awaited_.exchange(false); }
  void OnHeader(bool ok);
  void OnHeaderTimeout();
  absl::Status ReadHeader(bool ok);
  void OnChunkMessage(bool ok);
  void Unref();

  // ChunkReader: the next message goes to message_.
  void ReadNext() override { StartRead(&message_); }

  Submission& work_;
  grpc::CallbackServerContext* const context_;
  CallRecord record_;
  StreamPayload chunks_;
  grpc::ByteBuffer message_;  // of the one read under way
  bool got_header_ = false;   // seen by reactions of reads only, which come one at a time
  grpc::Alarm header_alarm_;
  std::atomic<bool> header_awaited_{true};
  std::atomic<int> refs_{2};  // gRPC, the alarm
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
