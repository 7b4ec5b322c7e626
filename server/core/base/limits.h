// What one request may ask for. Filled from the configuration, enforced by the front end before
// memory is taken, reported by GetServerInfo. Plain values.
#ifndef WARPFOLD_SERVER_CORE_BASE_LIMITS_H_
#define WARPFOLD_SERVER_CORE_BASE_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/plan.h"

namespace warpfold {

// Ranges of one resident tensor, written or being written, that do not touch: what the table keeps
// of an upload in parts.
inline constexpr std::size_t kTensorPiecesMax = 4096;

// Of resident tensors.
struct ResidentLimits {
  std::int64_t bytes_max = std::int64_t{1} << 30;  // on each device; 0: there are none
  std::int64_t tensor_bytes_max = std::int64_t{1} << 40;
  std::int64_t split_bytes_min = std::int64_t{1} << 30;  // of these and more on several devices
  std::int64_t tensors_max = 1024;
  std::chrono::milliseconds ttl{600'000};  // where the client does not say
  std::chrono::milliseconds ttl_max{86'400'000};
  // What a client is told to wait when there is no room: tensors go when somebody is done with
  // them, which takes longer than a request.
  std::chrono::milliseconds retry_delay{1000};
};

// Of memory that clients register.
struct RegionLimits {
  std::string
      shared_prefix;  // of the segments' names, from their '/' on; empty: none is registered
  std::int64_t regions_max = 1024;
  std::int64_t shared_bytes_max = std::int64_t{64} << 30;  // in shared memory together
  std::int64_t cuda_bytes_max = 0;  // on GPUs together; 0: none is registered
  // Clients open what they hand out to read, and to write it as well: nothing tells the two apart.
  bool cuda_takes_results = false;
  // As in ResidentLimits.
  std::chrono::milliseconds retry_delay{1000};
};

struct Limits {
  std::int64_t max_tensor_bytes = std::int64_t{1} << 40;
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  std::int64_t max_result_bytes = std::int64_t{64} << 20;
  std::int64_t max_rank = kMaxRank;
  std::int64_t max_ops = kRequestOpsMax;  // no op may come twice
  std::int64_t max_request_id_bytes = 256;
  std::int64_t max_requests_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{1} << 30;
  std::int64_t max_batch_requests = 256;  // of small tensors that a device takes together
  std::int64_t max_batch_bytes = std::int64_t{1} << 20;
  // How long, and how slow, a client may be.
  std::chrono::milliseconds queue_timeout{30000};
  std::chrono::milliseconds stream_idle_timeout{30000};
  std::chrono::milliseconds message_timeout{120'000};
  std::chrono::milliseconds write_idle_timeout{30000};
  std::int64_t min_bytes_per_s = std::int64_t{256} << 10;
  ResidentLimits resident;
  RegionLimits regions;

  // How long the server waits, all in all, for the chunks of a stream that has brought `bytes`.
  std::chrono::milliseconds ReadTimeout(std::int64_t bytes) const {
    return stream_idle_timeout + TransferTime(bytes);
  }
  // How long the client may take to read an answer of `bytes`.
  std::chrono::milliseconds WriteTimeout(std::int64_t bytes) const {
    return write_idle_timeout + TransferTime(bytes);
  }

 private:
  std::chrono::milliseconds TransferTime(std::int64_t bytes) const {
    return std::chrono::milliseconds(bytes * 1000 / min_bytes_per_s);
  }
};

// How long it may take while others are refused for want of bytes: a second, and the rate of a fast
// network.
inline constexpr std::chrono::milliseconds kPressedWriteIdle{1000};
inline constexpr std::int64_t kPressedBytesPerS = std::int64_t{64} << 20;
constexpr std::chrono::milliseconds PressedWriteTimeout(std::int64_t bytes) {
  return kPressedWriteIdle + std::chrono::milliseconds(bytes * 1000 / kPressedBytesPerS);
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_LIMITS_H_
