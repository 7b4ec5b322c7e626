// A call whose first message is a header and whose others are chunks: what ReduceStream and
// WriteTensor have in common.
//
// Step of a request: 1. The reaction that brings the header lets the handler decode it and asks
// whether there is room. Chunks are read as soon as the upload has a place. Only when the first
// segment of the tensor is here, or all of it, is the task admitted and queued: a client that sends
// nothing takes neither a request's place nor a worker. How long it is waited for the watchdog
// says: for the header, for each chunk, and for all of them at
// --min-bytes-per-s. It is an open call until it has its answer, and gives way to others when they
// are too many and it is silent, or still waits for its place.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_UPLOAD_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_UPLOAD_CALL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/upload_places.h"
#include "server/frontend/calls/answered_call.h"
#include "server/frontend/calls/chunk_wait.h"
#include "server/frontend/calls/stream_payload.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/requests/upload_handler.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

class UploadCall final : public AnsweredCall, public Upload, private ChunkReader {
 public:
  // Made with the call, before its chunks(), and destroyed with it.
  using MakeHandler = absl::FunctionRef<std::unique_ptr<UploadHandler>(UploadCall&)>;

  // Begins to serve a call that has come; never waits.
  static void Begin(Services& services, Method method, ArrivedCall arrived,
                    MakeHandler make_handler);

  UploadCall(Services& services, Method method, ArrivedCall arrived, MakeHandler make_handler);

  PayloadSource& chunks() { return chunks_; }
  // Lets go of the chunks that are here, and of the place.
  void StopReceiving() override ABSL_LOCKS_EXCLUDED(place_mutex_);

 private:
  void BeginReading() override;
  void OnMessage(grpc::ByteBuffer* message) override;
  void OnCancel() override;
  void OnWaitOverdue() override;
  bool EndWaiting() override;
  void OnPlace() override { BeginChunks(place_bytes()); }
  void OnAsked() override { BeginChunks(0); }
  std::int64_t EndSilent() override;
  // Begins to read, once, in a place of so many bytes or without one; or there is a reason to end,
  // which is in chunks_ then.
  void BeginChunks(std::int64_t place_bytes);
  std::int64_t place_bytes() { return PlaceBytes(call_services().segment_bytes); }
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
  void OnFirstSegment();
  void OnChunkMessage(grpc::ByteBuffer* message);
  void ReadChunk() override;

  const std::unique_ptr<UploadHandler> handler_;
  Submission& submission_;  // its
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

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_UPLOAD_CALL_H_
