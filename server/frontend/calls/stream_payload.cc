#include "server/frontend/calls/stream_payload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/field_error.h"

namespace warpfold {
namespace {

// A smaller chunk is copied to its like: as it came it keeps what gRPC received it in, which may be
// thousands of times its size.
constexpr std::size_t kSmallChunkBytes = std::size_t{4} << 10;
constexpr std::size_t kGatheredBytesMax = std::size_t{64} << 10;

}  // namespace

void StreamPayload::Begin(std::int64_t promised_bytes, std::int64_t first_bytes,
                          std::int64_t covered_bytes, std::function<void()> on_here) {
  bool read_next = false;
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mutex_);
    promised_bytes_ = promised_bytes;
    needed_bytes_ = std::min(promised_bytes, first_bytes);
    covered_bytes_ = covered_bytes;
    wake_ = std::move(on_here);
    wake = TakeWake();  // where it has failed already
    read_next = WantsRead();
  }
  if (read_next) reader_.ReadChunk();
  if (wake) wake();
}

bool StreamPayload::IsHere(std::int64_t bytes) const {
  if (!failure_.ok() || ended_) return true;
  return here_bytes_ >= bytes && received_bytes_ < promised_bytes_;
}

bool StreamPayload::WantsRead() {
  const bool wants =
      !reading_ && !ended_ && !closed_ && failure_.ok() &&
      (received_bytes_ == promised_bytes_ || here_bytes_ < needed_bytes_ + ahead_bytes_);
  if (wants) reading_ = true;
  return wants;
}

std::function<void()> StreamPayload::TakeWake() {
  changed_.Signal();
  return IsHere(needed_bytes_) ? std::exchange(wake_, nullptr) : nullptr;
}

absl::Status StreamPayload::Reserve() {
  absl::MutexLock lock(&mutex_);
  if (!failure_.ok() || covered_bytes_ == 0) return failure_;
  // Less than what is needed, and the chunk that makes it enough.
  const std::int64_t bytes = std::min(promised_bytes_, needed_bytes_ + 2 * kAheadBytes);
  absl::Status held = HoldAtLeast(bytes);
  if (held.ok()) reserved_bytes_ = bytes;
  return held;
}

bool StreamPayload::LeavePlace() {
  absl::MutexLock lock(&mutex_);
  if (closed_ || covered_bytes_ == 0) return true;
  const std::int64_t beyond = BeyondPlace(held_bytes_);
  if (kept_bytes_ > beyond && !beyond_.TryAdd(kept_bytes_ - beyond, beyond)) return false;
  reserved_bytes_ = 0;
  HoldNoMoreThanNeeded();
  covered_bytes_ = 0;
  return true;
}

void StreamPayload::EnterPlace(std::int64_t covered_bytes) {
  absl::MutexLock lock(&mutex_);
  const std::int64_t beyond = BeyondPlace(held_bytes_);
  covered_bytes_ = covered_bytes;
  beyond_.Drop(beyond - BeyondPlace(held_bytes_));
}

std::int64_t StreamPayload::kept_bytes() {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

bool StreamPayload::has_failed() {
  absl::MutexLock lock(&mutex_);
  return !failure_.ok();
}

absl::Status StreamPayload::HoldAtLeast(std::int64_t bytes) {
  if (bytes <= held_bytes_) return absl::OkStatus();
  const std::int64_t held_beyond = BeyondPlace(held_bytes_);
  const std::int64_t beyond = BeyondPlace(bytes) - held_beyond;
  if (beyond > 0 && !beyond_.TryAdd(beyond, held_beyond))
    return ticket_.RefuseBeyond(beyond_.bytes_max());
  absl::Status held = ticket_.TryHold(bytes - held_bytes_);
  if (held.ok()) {
    held_bytes_ = bytes;
  } else {
    beyond_.Drop(beyond);
  }
  return held;
}

void StreamPayload::HoldNoMoreThanNeeded() {
  const std::int64_t bytes = std::max(kept_bytes_, reserved_bytes_);
  if (bytes >= held_bytes_) return;
  ticket_.Drop(held_bytes_ - bytes);
  beyond_.Drop(BeyondPlace(held_bytes_) - BeyondPlace(bytes));
  held_bytes_ = bytes;
}

void StreamPayload::OnChunk(SliceRun chunk) {
  bool read_next = false;
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (closed_ || !failure_.ok()) return;
    received_bytes_ += static_cast<std::int64_t>(chunk.size_bytes());
    if (received_bytes_ > promised_bytes_) {
      failure_ = InvalidField(
          Field::kChunk,
          absl::StrCat("the chunks have ", received_bytes_,
                       " bytes so far, but the header's tensor describes ", promised_bytes_));
    } else {
      failure_ = Keep(std::move(chunk));
    }
    wake = TakeWake();
    read_next = WantsRead();
  }
  if (read_next) reader_.ReadChunk();
  if (wake) wake();
}

absl::Status StreamPayload::Keep(SliceRun chunk) {
  const std::size_t size = chunk.size_bytes();
  const std::int64_t size_bytes = static_cast<std::int64_t>(size);
  if (size == 0) return absl::OkStatus();
  if (absl::Status held = HoldAtLeast(kept_bytes_ + size_bytes); !held.ok()) return held;
  kept_bytes_ += size_bytes;
  here_bytes_ += size_bytes;
  if (size < kSmallChunkBytes) {
    const std::size_t at = gathered_.size();
    gathered_.resize(at + size);
    chunk.ReadInto(absl::MakeSpan(reinterpret_cast<std::byte*>(gathered_.data()) + at, size));
    if (gathered_.size() >= kGatheredBytesMax) SealGathered();
  } else {
    SealGathered();
    chunks_.push_back({std::move(chunk), size_bytes});
  }
  return absl::OkStatus();
}

void StreamPayload::SealGathered() {
  if (gathered_.empty()) return;
  const std::size_t size = gathered_.size();
  std::vector<grpc::Slice> slices;
  slices.emplace_back(gathered_);
  chunks_.push_back({SliceRun(std::move(slices), 0, size), static_cast<std::int64_t>(size)});
  gathered_.clear();
}

void StreamPayload::OnEnd() {
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    ended_ = true;
    if (failure_.ok() && received_bytes_ < promised_bytes_) {
      failure_ =
          InvalidField(Field::kChunk,
                       absl::StrCat("the client ended the stream after ", received_bytes_,
                                    " bytes, but the header's tensor describes ", promised_bytes_));
    }
    wake = TakeWake();
  }
  if (wake) wake();
}

void StreamPayload::Fail(absl::Status status) {
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    wake = TakeWake();
  }
  if (wake) wake();
}

void StreamPayload::Close() {
  std::function<void()> wake;  // dropped without the lock
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  wake.swap(wake_);
  chunks_.clear();
  gathered_.clear();
  kept_bytes_ = 0;
  reserved_bytes_ = 0;
  HoldNoMoreThanNeeded();
}

bool StreamPayload::AwaitBytes(std::size_t byte_count,
                               std::chrono::steady_clock::time_point until) {
  bool read_next = false;
  {
    absl::MutexLock lock(&mutex_);
    needed_bytes_ = static_cast<std::int64_t>(byte_count);
    ahead_bytes_ = kAheadBytes;
    read_next = WantsRead();
  }
  if (read_next) reader_.ReadChunk();
  absl::MutexLock lock(&mutex_);
  while (!IsHere(needed_bytes_)) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::steady_clock::duration::zero()) return false;
    changed_.WaitWithTimeout(&mutex_, absl::FromChrono(left));
  }
  return true;
}

bool StreamPayload::WakeWhenHere(std::size_t byte_count, std::function<void()>&& wake) {
  absl::MutexLock lock(&mutex_);
  needed_bytes_ = static_cast<std::int64_t>(byte_count);
  if (IsHere(needed_bytes_)) return false;
  wake_ = std::move(wake);
  return true;
}

absl::Status StreamPayload::ReadInto(absl::Span<std::byte> out) {
  while (!out.empty()) {
    SliceRun* chunk = nullptr;  // of chunks_.front()
    {
      absl::MutexLock lock(&mutex_);
      if (!failure_.ok()) return failure_;
      if (chunks_.empty()) SealGathered();
      if (chunks_.empty()) return absl::InternalError("a stream's bytes are not here");
      chunk = &chunks_.front().bytes;
    }
    // Only this thread removes chunks, and a deque does not move them: the copy needs no lock.
    const std::size_t copied = chunk->ReadInto(out);
    out.remove_prefix(copied);
    bool read_next = false;
    {
      absl::MutexLock lock(&mutex_);
      here_bytes_ -= static_cast<std::int64_t>(copied);
      if (chunk->size_bytes() == 0) {
        kept_bytes_ -= chunks_.front().size_bytes;
        chunks_.pop_front();
        HoldNoMoreThanNeeded();
      }
      read_next = WantsRead();
    }
    if (read_next) reader_.ReadChunk();
  }
  return absl::OkStatus();
}

absl::Status StreamPayload::ExpectEnd() {
  absl::MutexLock lock(&mutex_);
  if (failure_.ok() && !ended_) return absl::InternalError("a stream's end is not here");
  return failure_;
}

}  // namespace warpfold
