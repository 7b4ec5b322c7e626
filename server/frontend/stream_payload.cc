#include "server/frontend/stream_payload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace warpfold {

StreamPayload::StreamPayload(ChunkReader& reader, AdmissionTicket& ticket,
                             std::chrono::milliseconds idle_timeout,
                             std::chrono::system_clock::time_point deadline)
    : reader_(reader),
      ticket_(ticket),
      idle_timeout_(absl::FromChrono(idle_timeout)),
      deadline_(deadline == std::chrono::system_clock::time_point::max()
                    ? absl::InfiniteFuture()
                    : absl::FromChrono(deadline)) {}

void StreamPayload::Promise(std::int64_t byte_count) {
  absl::MutexLock lock(&mutex_);
  promised_bytes_ = byte_count;
}

bool StreamPayload::WantsRead() {
  const bool wants = open_ && !reading_ && !ended_ && !closed_ && failure_.ok() &&
                     chunks_.size() < kChunksInFlightMax;
  if (wants) reading_ = true;
  return wants;
}

void StreamPayload::OnChunk(SliceRun chunk) {
  bool read_next = false;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (closed_ || !failure_.ok()) return;
    const std::int64_t size_bytes = static_cast<std::int64_t>(chunk.size_bytes());
    received_bytes_ += size_bytes;
    if (received_bytes_ > promised_bytes_) {
      failure_ = absl::InvalidArgumentError(
          absl::StrCat("chunk: the chunks have ", received_bytes_,
                       " bytes so far, but the header's tensor describes ", promised_bytes_));
    } else if (size_bytes > 0) {
      ticket_.Hold(size_bytes);
      chunks_.push_back({std::move(chunk), size_bytes});
    }
    changed_.Signal();
    read_next = WantsRead();
  }
  if (read_next) reader_.ReadChunk();
}

void StreamPayload::OnEnd() {
  absl::MutexLock lock(&mutex_);
  reading_ = false;
  ended_ = true;
  if (failure_.ok() && received_bytes_ < promised_bytes_) {
    failure_ = absl::InvalidArgumentError(
        absl::StrCat("chunk: the client ended the stream after ", received_bytes_,
                     " bytes, but the header's tensor describes ", promised_bytes_));
  }
  changed_.Signal();
}

void StreamPayload::Fail(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  if (failure_.ok()) failure_ = std::move(status);
  changed_.Signal();
}

void StreamPayload::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (const Chunk& chunk : chunks_) ticket_.Hold(-chunk.held_bytes);
  chunks_.clear();
}

void StreamPayload::Open() {
  bool read_next = false;
  {
    absl::MutexLock lock(&mutex_);
    open_ = true;
    read_next = WantsRead();
  }
  if (read_next) reader_.ReadChunk();
}

absl::Status StreamPayload::Await() {
  // Restarted by each wait, so time in which we did not read is not held against the client.
  const absl::Time idle_end = absl::Now() + idle_timeout_;
  const absl::Time end = std::min(idle_end, deadline_);
  while (failure_.ok() && chunks_.empty() && !ended_) {
    if (!changed_.WaitWithDeadline(&mutex_, end)) continue;
    if (!failure_.ok() || !chunks_.empty() || ended_) break;
    failure_ = absl::DeadlineExceededError(
        deadline_ <= idle_end ? "the deadline has passed"
                              : absl::StrCat("chunk: nothing came for ",
                                             absl::ToInt64Milliseconds(idle_timeout_), " ms"));
  }
  return failure_;
}

absl::Status StreamPayload::ReadInto(absl::Span<std::byte> out) {
  while (!out.empty()) {
    SliceRun* chunk = nullptr;  // of chunks_.front()
    {
      absl::MutexLock lock(&mutex_);
      if (absl::Status status = Await(); !status.ok()) return status;
      if (chunks_.empty()) return absl::InternalError("a stream ended short and was not refused");
      chunk = &chunks_.front().bytes;
    }
    // Only this thread removes chunks, and a deque does not move them: the copy needs no lock.
    const std::size_t copied = chunk->ReadInto(out);
    out.remove_prefix(copied);
    if (chunk->size_bytes() > 0) continue;
    bool read_next = false;
    {
      absl::MutexLock lock(&mutex_);
      ticket_.Hold(-chunks_.front().held_bytes);
      chunks_.pop_front();
      read_next = WantsRead();
    }
    if (read_next) reader_.ReadChunk();
  }
  return absl::OkStatus();
}

absl::Status StreamPayload::ExpectEnd() {
  absl::MutexLock lock(&mutex_);
  return Await();
}

}  // namespace warpfold
