// What the server takes of the host's memory, from its options, beside the memory that it has.
//
// Two kinds. What nobody can refuse once it is needed is *set aside*: the process itself, the
// streams' staging buffers, the bytes that gRPC has received, and one reduction. It has to fit, or
// the server does not start. All else a request asks for, and is refused when there is no more
// (server/device/host_bytes.h): further reductions' scratch memory and results, resident tensors of
// the CPU. It shares what is left, whatever the options allow. Pure functions.
#ifndef WARPFOLD_SERVER_MEMORY_PLAN_H_
#define WARPFOLD_SERVER_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/config.h"
#include "server/memory_limit.h"

namespace warpfold {

// The part of the limit that the server plans with: the rest is for what an allocator keeps, and
// for what others in the same group take.
inline constexpr double kMemoryShare = 0.85;

class MemoryPlan {
 public:
  MemoryPlan(const Config& config, Backend backend, int devices);

  // "256 MiB process + 16 MiB staging (--workers-per-device 4 x 1 x --staging-buffer-bytes 4 MiB) +
  // ... = 2768 MiB"
  std::string Sum() const;

  // OK, or RESOURCE_EXHAUSTED with the sum and what to lower.
  absl::Status Fits(const MemoryLimit& limit) const;

  // What requests may ask for beside: of `limit` what is not set aside, the one reduction's being
  // theirs.
  std::int64_t LeftForRequests(const MemoryLimit& limit) const;

 private:
  struct Term {
    std::int64_t bytes;
    std::string of;
  };

  std::int64_t bytes() const;

  std::vector<Term> terms_;
  std::int64_t reduction_bytes_;
};

// "0.85 of 4096 MiB (memory.max of /sys/fs/cgroup)"
std::string ShareText(const MemoryLimit& limit);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_MEMORY_PLAN_H_
