// The payload of a tensor that arrives in chunks while it is reduced: where gRPC's reactions and a
// lane's thread meet.
//
// Step of a request: 1 to 3. Reactions push chunks and never wait; the lane's thread pulls bytes
// and waits for them. At most kChunksInFlightMax chunks are here or being read at a time: when the
// lane does not keep up, nothing is read and gRPC's flow control slows the sender. Nothing is read
// at all before a lane holds the request.
//
// Safe between one reaction at a time, one lane's thread, and Fail from anywhere.
#ifndef WARPFOLD_SERVER_FRONTEND_STREAM_PAYLOAD_H_
#define WARPFOLD_SERVER_FRONTEND_STREAM_PAYLOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/core/admission.h"
#include "server/core/work.h"
#include "server/frontend/wire_message.h"

namespace warpfold {

// One being copied, one being received: what a stream holds beside its lane, and a promise of the
// design.
inline constexpr std::size_t kChunksInFlightMax = 2;

// Starts the read of the next chunk; its arrival is told by OnChunk, OnEnd or Fail. Never waits.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  virtual void ReadChunk() = 0;
};

class StreamPayload final : public PayloadSource {
 public:
  // `reader` and `ticket` must outlive the payload, the ticket until Close.
  StreamPayload(ChunkReader& reader, AdmissionTicket& ticket,
                std::chrono::milliseconds idle_timeout,
                std::chrono::system_clock::time_point deadline);

  // What the header promised; before the work is queued.
  void Promise(std::int64_t byte_count) ABSL_LOCKS_EXCLUDED(mutex_);

  // The read that ReadChunk started brought a chunk, or the client's half-close.
  void OnChunk(SliceRun chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // The stream is over with `status`: the lane's thread gets it at its next call, or out of its
  // wait. The first one counts.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops all chunks, with what the ticket holds for them, and takes no more; the ticket is not
  // touched afterwards.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  void Open() override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ReadInto(absl::Span<std::byte> out) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ExpectEnd() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // True, and the read is noted as under way, when the next message should be read now: the caller
  // unlocks, then starts it.
  bool WantsRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until there is a chunk, the end or a failure; the failure, if any.
  absl::Status Await() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Chunk {
    SliceRun bytes;
    std::int64_t held_bytes = 0;  // what the ticket counts for it until it is gone
  };

  ChunkReader& reader_;
  AdmissionTicket& ticket_;
  const absl::Duration idle_timeout_;
  const absl::Time deadline_;

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<Chunk> chunks_ ABSL_GUARDED_BY(mutex_);
  std::int64_t promised_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_STREAM_PAYLOAD_H_
