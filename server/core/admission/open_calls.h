// How many calls wait for their clients and hold nothing that is charged otherwise: those whose
// request is not whole yet, streams, and those whose refusal nobody has read. gRPC and the server
// hold kOpenCallBytes for each.
//
// As many as fill --max-bytes-in-flight may be open, beside the bytes that it bounds, and no more
// than kCallsMax, and a quarter more of connections that have few; one more is refused. Beyond
// three quarters of them those that have waited for more than a second are missed (Shortage), and
// beyond all of them the longest waiting at once; but none that may have waited for the server
// (ServerLag).
//
// Step of a request: 1. Safe from any thread: a call costs a few additions.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_OPEN_CALLS_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_OPEN_CALLS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/admission/room.h"
#include "server/core/base/refusal.h"

namespace warpfold {

// Of memory, by RSS, of 8,000 calls without a request 15.7 KB, of as many streams of ReduceMany
// 17.4 KB (gRPC 1.51, 2026-11-26).
inline constexpr std::int64_t kOpenCallBytes = std::int64_t{16} << 10;

// How far the server is behind: what a request waits for the server though all its bytes are here.
// Who has to tell slow clients from a slow server takes the mean time in which requests became
// whole of late. Clients whose requests never do have no part in it.
class ServerLag {
 public:
  // Clients that complete their requests slowly make it no longer.
  static constexpr std::chrono::milliseconds kMax{1000};

  // A request was whole `wait` after the server had begun to read it.
  void Note(std::chrono::milliseconds wait) {
    sum_ms_.fetch_add(std::min(wait, kMax).count(), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  // Of those that became whole since it was last asked. Of none half of what it said then: clients
  // that hold all calls with half a request are not taken for a slow server for long.
  std::chrono::milliseconds Take() {
    const std::int64_t count = count_.exchange(0, std::memory_order_relaxed);
    const std::int64_t sum_ms = sum_ms_.exchange(0, std::memory_order_relaxed);
    const std::int64_t lag_ms = count == 0 ? lag_ms_ / 2 : sum_ms / count;
    lag_ms_ = lag_ms;
    return std::chrono::milliseconds(lag_ms);
  }

 private:
  std::atomic<std::int64_t> sum_ms_{0};
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> lag_ms_{0};
};

class OpenCalls {
 public:
  // The open ones of one connection. It outlives their places.
  class Share {
    friend class OpenCalls;
    std::atomic<std::int64_t> open_{0};
  };
  // That of one call.
  class Place {
    friend class OpenCalls;
    enum State { kNone, kOpen, kEnding };
    std::atomic<State> state_{kNone};
    Share* share_ = nullptr;  // once it is open
  };

  // However few bytes may be in flight.
  static constexpr std::int64_t kCallsMaxMin = 1024;
  // However many: gRPC as distributions build it (1.51, with its assertions) searches the list of
  // all calls whenever one goes on. An answer of 4 KiB took 13 us of a processor beside 1,024
  // waiting calls, 17 beside 4,096, 32 beside 16,384 and 1,042 beside 65,536 (CPU backend,
  // 2026-11-27).
  static constexpr std::int64_t kCallsMax = 8192;

  explicit OpenCalls(std::int64_t bytes_max) { SetBytesMax(bytes_max); }

  // One more, until it leaves. RESOURCE_EXHAUSTED with RetryLater: too many are open; it counts
  // among those that end.
  absl::Status Enter(Place& place, Share& share) {
    const std::int64_t own = share.open_.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t limit = LimitFor(own, max());
    const std::int64_t open = open_.fetch_add(1, std::memory_order_relaxed);
    place.share_ = &share;
    place.state_ = Place::kOpen;
    if (open < limit) return absl::OkStatus();
    End(place);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return RefusalStatus(RetryLater{kRetryDelay},
                         absl::StrCat("the limit of ", limit,
                                      " calls that wait for their clients is reached "
                                      "(--max-bytes-in-flight)"));
  }
  // It ends, once its client has read so. Those that end do not keep others from entering: while
  // all of a flood are refused their refusals wait, too.
  void End(Place& place) { Move(place, Place::kEnding); }
  void Leave(Place& place) { Move(place, Place::kNone); }

  // What they wait for may be the server.
  ServerLag& lag() { return lag_; }

  void SetBytesMax(std::int64_t bytes_max) {
    max_.store(std::clamp(bytes_max / kOpenCallBytes, kCallsMaxMin, kCallsMax),
               std::memory_order_relaxed);
    call_bytes_.store(std::max(kOpenCallBytes, bytes_max / kCallsMax), std::memory_order_relaxed);
  }

  // What a call is charged whose answer is unread, beside that: what it holds, and so much that
  // kCallsMax of them fill --max-bytes-in-flight.
  std::int64_t call_bytes() const { return call_bytes_.load(std::memory_order_relaxed); }

  std::int64_t max() const { return max_.load(std::memory_order_relaxed); }
  // That are open or end.
  std::int64_t count() const {
    return open_.load(std::memory_order_relaxed) + ending_.load(std::memory_order_relaxed);
  }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  // By then some have given way.
  static constexpr std::chrono::milliseconds kRetryDelay{1000};

  // Safe from several threads of one call.
  void Move(Place& place, Place::State to) {
    const Place::State from = place.state_.exchange(to);
    Count(place, to, 1);
    Count(place, from, -1);
  }
  void Count(const Place& place, Place::State state, std::int64_t change) {
    if (state == Place::kOpen) {
      open_.fetch_add(change, std::memory_order_relaxed);
      place.share_->open_.fetch_add(change, std::memory_order_relaxed);
    }
    if (state == Place::kEnding) ending_.fetch_add(change, std::memory_order_relaxed);
  }

  std::atomic<std::int64_t> max_{0};
  std::atomic<std::int64_t> call_bytes_{kOpenCallBytes};
  std::atomic<std::int64_t> open_{0};
  std::atomic<std::int64_t> ending_{0};
  std::atomic<std::uint64_t> refused_{0};
  ServerLag lag_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_OPEN_CALLS_H_
