// The payload of a tensor that arrives in chunks: where gRPC's reactions and a worker's thread
// meet.
//
// Step of a request: 1 to 3. Reactions push chunks and never wait; a worker's thread takes bytes
// that are here. Chunks are read until there are as many bytes as whoever takes them needs next;
// beyond that, and kAheadBytes once a worker has begun, nothing is read, and gRPC's flow control
// slows the sender. The ticket counts every byte from its arrival until it is taken; what of them a
// place (upload_places.h) does not cover counts as beyond it.
//
// Safe between one reaction at a time, one worker's thread, and Fail from anywhere.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_STREAM_PAYLOAD_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_STREAM_PAYLOAD_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/core/admission/admission.h"
#include "server/core/admission/upload_places.h"
#include "server/core/request/task.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

// What a stream reads beyond the segment that its worker takes: a chunk or two, on their way while
// that is copied.
inline constexpr std::int64_t kAheadBytes = std::int64_t{1} << 20;

// What a place covers: a segment and what is read ahead, with the chunk that has begun and the one
// that makes it enough, where chunks are no larger than that (the clients' are as large).
constexpr std::int64_t PlaceBytes(std::int64_t segment_bytes) {
  return segment_bytes + 3 * kAheadBytes;
}

// Starts the read of the next chunk; its arrival is told by OnChunk, OnEnd or Fail. Never waits.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  virtual void ReadChunk() = 0;
};

class StreamPayload final : public PayloadSource {
 public:
  // `reader`, `ticket` and `beyond` must outlive the payload, the latter two until Close.
  StreamPayload(ChunkReader& reader, AdmissionTicket& ticket, ByteBudget& beyond)
      : reader_(reader), ticket_(ticket), beyond_(beyond) {}

  // Begins to read the `promised_bytes` of the header, in a place that covers `covered_bytes`, or
  // without one (0). `on_here` is called, once, when `first_bytes` or all of them are here, or the
  // stream has failed: inside this, OnChunk, OnEnd or Fail.
  void Begin(std::int64_t promised_bytes, std::int64_t first_bytes, std::int64_t covered_bytes,
             std::function<void()> on_here) ABSL_LOCKS_EXCLUDED(mutex_);

  // The stream's failure. If there is none, has the ticket hold from now on all that the stream may
  // have here at a time, so that it is not refused half way: RESOURCE_EXHAUSTED.
  absl::Status Reserve() ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on it holds what is here, beyond any place, and a chunk for which there is no room
  // fails the stream. False, and nothing changes: there is no room for what is here.
  bool LeavePlace() ABSL_LOCKS_EXCLUDED(mutex_);
  // It has a place again, or at last.
  void EnterPlace(std::int64_t covered_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Received, and not let go of yet.
  std::int64_t kept_bytes() ABSL_LOCKS_EXCLUDED(mutex_);

  bool has_failed() ABSL_LOCKS_EXCLUDED(mutex_);

  // The read that ReadChunk started brought a chunk, or the client's half-close.
  void OnChunk(SliceRun chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // The stream is over with `status`, which whoever takes its bytes gets next. The first one
  // counts.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops all chunks, with what the ticket holds for them, and takes no more; the ticket is not
  // touched afterwards.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  bool AwaitBytes(std::size_t byte_count, std::chrono::steady_clock::time_point until) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool WakeWhenHere(std::size_t byte_count, std::function<void()>&& wake) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ReadInto(absl::Span<std::byte> out) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ExpectEnd() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The next `bytes` are here, and the end where they are the last; or the stream has failed.
  bool IsHere(std::int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True, and the read is noted as under way, when the next message should be read now: the caller
  // unlocks, then starts it.
  bool WantsRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Something has come: what to call, without the lock, if it is what somebody waits for.
  std::function<void()> TakeWake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Keep(SliceRun chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SealGathered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status HoldAtLeast(std::int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HoldNoMoreThanNeeded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What of `bytes` counts as beyond the place.
  std::int64_t BeyondPlace(std::int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::max<std::int64_t>(0, bytes - covered_bytes_);
  }

  struct Chunk {
    SliceRun bytes;
    std::int64_t size_bytes = 0;  // as it came
  };

  ChunkReader& reader_;
  AdmissionTicket& ticket_;
  ByteBudget& beyond_;

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<Chunk> chunks_ ABSL_GUARDED_BY(mutex_);
  std::string gathered_ ABSL_GUARDED_BY(mutex_);  // behind them: of small chunks
  std::int64_t promised_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t here_bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // received and not taken
  std::int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // and what of their chunks is taken
  std::int64_t needed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // by whoever takes them next
  std::int64_t ahead_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t covered_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // by a place; 0: there is none
  std::int64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // by the ticket
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);   // when needed_bytes_ are here
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_STREAM_PAYLOAD_H_
