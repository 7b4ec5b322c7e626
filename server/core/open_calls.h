// How many calls wait for their clients and hold nothing that is charged otherwise: those whose
// request is not whole yet, streams, and those whose refusal nobody has read. gRPC and the server
// hold kOpenCallBytes for each.
//
// As many as fill --max-bytes-in-flight may be open, beside the bytes that it bounds; one more is
// refused. Beyond three quarters of them those that have waited for more than a second are missed
// (Shortage), and beyond all of them the longest waiting at once.
//
// Step of a request: 1. Safe from any thread: a call costs two additions.
#ifndef WARPFOLD_SERVER_CORE_OPEN_CALLS_H_
#define WARPFOLD_SERVER_CORE_OPEN_CALLS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"

namespace warpfold {

// Of memory, by RSS, of 8,000 calls without a request 15.7 KB, of as many streams of ReduceMany
// 17.4 KB (gRPC 1.51, 2026-11-26).
inline constexpr std::int64_t kOpenCallBytes = std::int64_t{16} << 10;

class OpenCalls {
 public:
  // However few bytes may be in flight.
  static constexpr std::int64_t kCallsMaxMin = 1024;

  explicit OpenCalls(std::int64_t bytes_max) { SetBytesMax(bytes_max); }

  // One more, refused or not, until it leaves. RESOURCE_EXHAUSTED with RetryLater: too many.
  absl::Status Enter() {
    const std::int64_t calls_max = max();
    if (count_.fetch_add(1, std::memory_order_relaxed) < calls_max) return absl::OkStatus();
    refused_.fetch_add(1, std::memory_order_relaxed);
    return RefusalStatus(RetryLater{kRetryDelay},
                         absl::StrCat("the limit of ", calls_max,
                                      " calls that wait for their clients is reached "
                                      "(--max-bytes-in-flight)"));
  }
  // The same for one that ends already.
  void EnterEnding() { count_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { count_.fetch_sub(1, std::memory_order_relaxed); }

  void SetBytesMax(std::int64_t bytes_max) {
    max_.store(std::max(kCallsMaxMin, bytes_max / kOpenCallBytes), std::memory_order_relaxed);
  }

  std::int64_t max() const { return max_.load(std::memory_order_relaxed); }
  std::int64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  // By then some have given way.
  static constexpr std::chrono::milliseconds kRetryDelay{1000};

  std::atomic<std::int64_t> max_{0};
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_OPEN_CALLS_H_
