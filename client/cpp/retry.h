// When to try a failed call again, and after how long: the retry column of
// proto/warpfold/v1/reduction.proto and tensor.proto as a function.
//
// gRPC's own retries are off in this client: they buffer a call's messages and silently give up
// past 256 KiB (measured: 200 kB is retried, 300 kB is not). A reduction changes nothing on the
// server, so sending it again is always safe.
//
// Thread safety: Retrier belongs to one call. Failure: none.
#ifndef WARPFOLD_CLIENT_CPP_RETRY_H_
#define WARPFOLD_CLIENT_CPP_RETRY_H_

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "absl/status/status.h"

namespace google::rpc {
class Status;
}

namespace warpfold::client {

struct RetryPolicy {
  // The first one included; 1 never retries. 0: as many as the call's timeout has room for, of
  // Client::Connect five, so that nothing at the target is said soon.
  int attempts_max = 0;
  std::chrono::milliseconds backoff_first{50};
  std::chrono::milliseconds backoff_max{2000};
  double backoff_factor = 2.0;
  double jitter = 0.2;  // each delay is multiplied by a number drawn from [1 - jitter, 1 + jitter]
};

// How long the server asked to wait: the trailer grpc-retry-pushback-ms when it is there, else the
// google.rpc.RetryInfo detail. Negative means "do not retry"; nullopt that the server said nothing.
std::optional<std::chrono::milliseconds> PushbackOf(
    const grpc::Status& status, std::optional<std::int64_t> pushback_trailer_ms);

// The same of an item of ReduceMany, whose status is in its message.
std::optional<std::chrono::milliseconds> PushbackOf(const google::rpc::Status& status);

// `status` that also says how long the server asked to wait; as it is without such a delay.
absl::Status WithRetryDelay(absl::Status status, std::optional<std::chrono::milliseconds> pushback);

// How long the server asked to wait before what failed with `status` is tried again. Without a
// delay a RESOURCE_EXHAUSTED is final: the request is over a limit and will never fit.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

class Retrier {
 public:
  // `seed` fixes the jitter, so that a test can repeat a run.
  Retrier(const RetryPolicy& policy, std::uint64_t seed);

  // REQUIRES: the caller did not cancel the call itself.
  // The delay before the next attempt, or nullopt when the last failure is final: the code is
  // permanent, the attempts are used up, the server forbade it, or the delay does not fit into
  // `time_left`.
  std::optional<std::chrono::milliseconds> NextDelay(
      const grpc::Status& status, std::optional<std::chrono::milliseconds> pushback,
      std::chrono::milliseconds time_left);

  int attempts() const { return attempts_; }

 private:
  std::chrono::milliseconds Jittered(std::chrono::milliseconds delay);

  RetryPolicy policy_;
  std::chrono::milliseconds backoff_;
  const std::uint64_t seed_;
  std::optional<std::mt19937_64> random_;  // made for the first delay: most calls have none
  int attempts_ = 1;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_RETRY_H_
