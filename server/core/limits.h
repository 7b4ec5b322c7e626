// What one request may ask for. Filled from the configuration, enforced by the front end before
// memory is taken, reported by GetServerInfo. Plain values, constant while the server runs.
#ifndef WARPFOLD_SERVER_CORE_LIMITS_H_
#define WARPFOLD_SERVER_CORE_LIMITS_H_

#include <chrono>
#include <cstdint>

#include "kernels/plan.h"

namespace warpfold {

struct Limits {
  std::int64_t max_tensor_bytes = std::int64_t{1} << 40;
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  std::int64_t max_result_bytes = std::int64_t{64} << 20;
  std::int64_t max_rank = kMaxRank;
  std::int64_t max_ops = 16;  // as many as the contract names; no op may come twice
  std::int64_t max_request_id_bytes = 256;
  std::int64_t max_requests_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{1} << 30;
  std::chrono::milliseconds stream_idle_timeout{30000};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_LIMITS_H_
