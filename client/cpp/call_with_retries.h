// A call tried again as the policy allows (retry.h): for the methods of Client.
//
// Thread safety: blocks its caller; nothing is shared.
#ifndef WARPFOLD_CLIENT_CPP_CALL_WITH_RETRIES_H_
#define WARPFOLD_CLIENT_CPP_CALL_WITH_RETRIES_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/connection.h"
#include "client/cpp/retry.h"

namespace warpfold::client {

struct Served {
  absl::Status status;
  grpc::ByteBuffer response;
  int attempts = 1;
};

// gRPC's status as ours. The message names `target` when nothing answers there, and the attempts if
// there were several.
absl::Status ToAbslStatus(const grpc::Status& status, const std::string& target, int attempts);

// What is left until `give_up_at`, for one of the calls that share it.
inline std::chrono::milliseconds TimeLeft(std::chrono::steady_clock::time_point give_up_at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(give_up_at -
                                                               std::chrono::steady_clock::now());
}

// Runs `attempt` until it succeeds, its failure is final, `timeout` is over or a stop is requested.
Served CallWithRetries(const RetryPolicy& policy, const std::string& target,
                       std::chrono::milliseconds timeout, const std::stop_token& stop,
                       const std::function<CallReply(const CallLimits&)>& attempt);

// The same for a call that moves a payload of any size, by Connection::Stream: until it has been
// silent for `silence_max`.
Served StreamWithRetries(const RetryPolicy& policy, const std::string& target,
                         std::chrono::milliseconds silence_max, const std::stop_token& stop,
                         const std::function<CallReply(const CallLimits&)>& attempt);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CALL_WITH_RETRIES_H_
