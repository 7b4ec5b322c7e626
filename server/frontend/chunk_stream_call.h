// A call whose first message is a header and whose others are chunks: what ReduceStream and
// WriteTensor have in common.
//
// Step of a request: 1. The reaction that brings the header lets the method decode, admit and
// queue; further messages are read only once a lane asks for them. A client that never sends its
// header is let go by the watchdog, one that falls silent later by the lane's own wait.
#ifndef WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/answered_call.h"
#include "server/frontend/stream_payload.h"
#include "server/frontend/submission.h"
#include "server/frontend/wire_message.h"

namespace warpfold {

class ChunkStreamCall : public AnsweredCall, private ChunkReader {
 protected:
  // `work` is the method's own, and outlives this.
  ChunkStreamCall(Submission& work, Method method, ArrivedCall arrived);

  // Parses a message but for its chunk. True when it has a header, which is then the method's.
  virtual absl::StatusOr<bool> TakeHeader(const WireMessage& wire) = 0;
  // Makes of the header what it asks for, promises its bytes to chunks(), and starts the work.
  virtual absl::Status ServeHeader() = 0;
  // The call ends with `status` before its work was queued: counts, logs and sends it.
  virtual void RefuseWith(const absl::Status& status) = 0;

  StreamPayload& chunks() { return chunks_; }

 private:
  void BeginReading() final;
  void OnMessage(grpc::ByteBuffer* message) final;
  void OnCancel() final;
  void OnWaitOverdue() final;
  // True for the first caller only: the header came, or it came too late.
  bool EndHeaderPhase() { return header_awaited_.exchange(false); }
  // Null: the stream has ended.
  void OnHeader(grpc::ByteBuffer* message);
  absl::Status ReadHeader(grpc::ByteBuffer* message);
  void OnChunkMessage(grpc::ByteBuffer* message);

  void ReadChunk() override { ReadNext(); }

  Submission& work_;
  StreamPayload chunks_;
  bool got_header_ = false;  // seen by OnMessage only, which comes one at a time
  std::atomic<bool> header_awaited_{true};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
