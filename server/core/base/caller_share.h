// What one caller may hold of what all share: no more than is left then, so that there is always
// room for another. Alone it has half, and beside another who asks for all a third. An operator's
// quota takes the place of that.
//
// Step of a request: 2, decide. Plain values for their owner's lock.
#ifndef WARPFOLD_SERVER_CORE_BASE_CALLER_SHARE_H_
#define WARPFOLD_SERVER_CORE_BASE_CALLER_SHARE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/base/refusal.h"

namespace warpfold {

// What callers share of the server, as its refusals name it.
struct Shared {
  const char* name;      // in the plural, with its unit
  const char* freed_by;  // how the caller has some again
  const char* option;    // its limit; empty: another limit's part
  const char* quota;     // its key in the file of callers; empty: it has none
};
inline constexpr char kByAnswers[] = "answers free some";
inline constexpr char kByDeleting[] = "DeleteTensor frees some";
inline constexpr char kByUnregistering[] = "unregistering frees some";
inline constexpr Shared kSharedRequests = {"requests in flight", kByAnswers,
                                           "max-requests-in-flight", "max-requests-in-flight"};
inline constexpr Shared kSharedWorkers = {"requests in flight that need a worker", kByAnswers, "",
                                          ""};
inline constexpr Shared kSharedBytes = {"bytes in flight", kByAnswers, "max-bytes-in-flight",
                                        "max-bytes-in-flight"};
inline constexpr Shared kSharedTensors = {"resident tensors", kByDeleting, "max-resident-tensors",
                                          "max-resident-tensors"};
inline constexpr Shared kSharedTensorBytes = {"resident bytes", kByDeleting, "max-resident-bytes",
                                              "max-resident-bytes"};
inline constexpr Shared kSharedRegions = {"regions", kByUnregistering, "max-memory-regions",
                                          "max-regions"};
inline constexpr Shared kSharedSystemBytes = {"bytes of shared memory", kByUnregistering,
                                              "max-shared-memory-bytes", ""};
inline constexpr Shared kSharedCudaBytes = {"bytes of GPU memory", kByUnregistering,
                                            "max-cuda-memory-bytes", ""};

// How much of it one caller, and all of them with it, hold.
struct SharedUse {
  std::int64_t held = 0;
  std::int64_t held_by_all = 0;
  std::int64_t max = 0;  // that all may hold
  std::optional<std::int64_t> quota = std::nullopt;
};

// Whether somebody who holds some would have more with `more` than is left then.
bool IsBeyondShare(const SharedUse& use, std::int64_t more);

// Whether `more` at once may be within the caller's quota. RESOURCE_EXHAUSTED that never fits.
absl::Status CheckFitsQuota(const Shared& of, const std::optional<std::int64_t>& quota,
                            std::int64_t more);

// Whether the caller may hold `more`. RESOURCE_EXHAUSTED with `later`: it holds its share, or its
// quota. What is its only one it may have beyond the share.
absl::Status CheckShare(const Shared& of, const SharedUse& use, std::int64_t more,
                        const RetryLater& later);

// Things of callers that are counted, with their bytes.
struct Holding {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  Holding& operator+=(const Holding& other) {
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
  Holding& operator-=(const Holding& other) {
    count -= other.count;
    bytes -= other.bytes;
    return *this;
  }
};

// What each caller holds, by its name. Who holds nothing is not in it.
class Holdings {
 public:
  Holding Of(const std::string& owner) const;
  const Holding& all() const { return all_; }
  std::size_t owners() const { return by_owner_.size(); }

  // One thing of so many bytes.
  void Add(const std::string& owner, std::int64_t bytes);
  // REQUIRES: it was added.
  void Remove(const std::string& owner, std::int64_t bytes);

 private:
  absl::flat_hash_map<std::string, Holding> by_owner_;
  Holding all_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_CALLER_SHARE_H_
