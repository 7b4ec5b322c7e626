// Times one RPC from when it is made, and counts it when told how it ended: the grpc_server_*
// metrics.
//
// Safe from any thread, but for being told twice.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_CALL_RECORD_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_CALL_RECORD_H_

#include <chrono>

#include "absl/status/status.h"
#include "server/observe/metrics/metrics.h"

namespace warpfold {

class CallRecord {
 public:
  CallRecord(Metrics& metrics, Method method)
      : metrics_(metrics), method_(method), start_(std::chrono::steady_clock::now()) {}

  // Call once, just before the RPC's Finish.
  void Handled(absl::StatusCode code) { metrics_.CountCallHandled(method_, code, elapsed()); }

  std::chrono::steady_clock::time_point start() const { return start_; }
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  Metrics& metrics_;
  const Method method_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_CALL_RECORD_H_
