// The process' budget as a test wants it.
#ifndef WARPFOLD_TESTS_DEVICE_HOST_BUDGET_H_
#define WARPFOLD_TESTS_DEVICE_HOST_BUDGET_H_

#include <cstdint>
#include <limits>

#include "server/device/host_bytes.h"

namespace warpfold::testing {

inline std::int64_t UsedHostBytes() { return HostBudget::OfProcess().state().used_bytes; }

// Leaves `bytes` beside what is taken, until its end.
class LeftInBudget {
 public:
  explicit LeftInBudget(std::int64_t bytes) {
    HostBudget::OfProcess().SetLimit(UsedHostBytes() + bytes);
  }
  ~LeftInBudget() { HostBudget::OfProcess().SetLimit(std::numeric_limits<std::int64_t>::max()); }
  LeftInBudget(const LeftInBudget&) = delete;
  LeftInBudget& operator=(const LeftInBudget&) = delete;
};

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_HOST_BUDGET_H_
