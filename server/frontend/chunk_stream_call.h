// A call whose first message is a header and whose others are chunks: what ReduceStream and
// WriteTensor have in common.
//
// Step of a request: 1. The reaction that brings the header lets the method decode it and asks
// whether there is room. Chunks are read as soon as the upload has a place. Only when the first
// piece of the tensor is here, or all of it, is the task admitted and queued: a client that sends
// nothing takes neither a request's place nor a lane. How long it is waited for the watchdog says:
// for the header, for each chunk, and for all of them at
// --min-bytes-per-s. It is an open call until it has its answer, and gives way to others when they
// are too many and it is silent, or still waits for its place.
#ifndef WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/upload_places.h"
#include "server/frontend/answered_call.h"
#include "server/frontend/chunk_wait.h"
#include "server/frontend/stream_payload.h"
#include "server/frontend/submission.h"
#include "server/frontend/wire_message.h"

namespace warpfold {

class ChunkStreamCall : public AnsweredCall, public Upload, private ChunkReader {
 protected:
  // `submission` is the method's own, and outlives this.
  ChunkStreamCall(Submission& submission, Method method, ArrivedCall arrived);

  // Parses a message but for its chunk. True when it has a header, which is then the method's.
  virtual absl::StatusOr<bool> TakeHeader(const WireMessage& wire) = 0;
  // Makes of the header what it asks for, and expects it (Submission::Expect). The bytes that the
  // chunks have to bring.
  virtual absl::StatusOr<std::int64_t> AcceptHeader() = 0;
  // Admits and queues the task: enough of its chunks is here.
  virtual absl::Status StartTask() = 0;
  // The call ends with `status` before its task was queued: counts, logs and sends it.
  virtual void RefuseWith(const absl::Status& status) = 0;

  StreamPayload& chunks() { return chunks_; }
  // No more of them is wanted: lets go of what is here, and of the place.
  void CloseChunks() ABSL_LOCKS_EXCLUDED(place_mutex_);
  // How long it waited until it was read. REQUIRES: in StartTask.
  std::chrono::nanoseconds place_wait() const { return place_wait_; }

 private:
  void BeginReading() final;
  void OnMessage(grpc::ByteBuffer* message) final;
  void OnCancel() final;
  void OnWaitOverdue() final;
  bool EndWaiting() final;
  void OnPlace() final { BeginChunks(place_bytes()); }
  void OnAsked() final { BeginChunks(0); }
  std::int64_t EndSilent() final;
  // Begins to read, once, in a place of so many bytes or without one; or there is a reason to end,
  // which is in chunks_ then.
  void BeginChunks(std::int64_t place_bytes);
  std::int64_t place_bytes() { return PlaceBytes(call_services().piece_bytes); }
  // It has been silent in its turn.
  void LeavePlace(std::chrono::milliseconds look_in) ABSL_LOCKS_EXCLUDED(place_mutex_);
  // It waits for its client without a place.
  void NoteSilence(std::chrono::milliseconds since);
  // It has brought a chunk of so many bytes without a place.
  void TryTakePlace(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(place_mutex_);
  // True for the first caller only: the header came, or it came too late.
  bool EndHeaderPhase() { return header_awaited_.exchange(false); }
  void OnChunkOverdue();
  // Null: the stream has ended.
  void OnHeader(grpc::ByteBuffer* message);
  absl::StatusOr<std::int64_t> ReadHeader(grpc::ByteBuffer* message);
  absl::Status NoHeader();
  void OnFirstPiece();
  void OnChunkMessage(grpc::ByteBuffer* message);
  void ReadChunk() override;

  Submission& submission_;
  StreamPayload chunks_;
  bool got_header_ = false;  // seen by OnMessage only, which comes one at a time
  std::atomic<bool> header_awaited_{true};

  std::int64_t promised_bytes_ = 0;
  std::atomic<bool> is_accepted_{false};  // the header is, and there was no place
  std::atomic<bool> is_begun_{false};

  std::chrono::steady_clock::time_point header_at_;
  std::chrono::nanoseconds place_wait_{0};

  ChunkWait wait_;
  absl::Mutex place_mutex_;  // uploads, chunks_ and wait_ have the same word of a place
  bool is_closed_ ABSL_GUARDED_BY(place_mutex_) = false;
  std::atomic<bool> has_place_{false};
  std::atomic<bool> is_in_silence_{false};  // told to uploads
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CHUNK_STREAM_CALL_H_
