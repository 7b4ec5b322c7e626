// How long a work keeps its lane while its client sends the next bytes.
//
// Step of a request: 3.
#ifndef WARPFOLD_SERVER_CORE_PATIENCE_H_
#define WARPFOLD_SERVER_CORE_PATIENCE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace warpfold {

enum class Patience { kOthersWait, kNobodyWaits };

// While others wait for a lane: as long as a fast connection takes for them, 2 ns a byte. Leaving
// the lane at once cost eight streams on seven threads a tenth of their rate, since a GPU's lane
// has to be idle before its task leaves (H100, 2026-11-25).
inline std::chrono::steady_clock::duration WaitMax(Patience patience, std::size_t byte_count) {
  const std::chrono::nanoseconds transfer(2 * byte_count);
  if (patience == Patience::kOthersWait) return transfer;
  return std::max<std::chrono::nanoseconds>(transfer, std::chrono::milliseconds(20));
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_PATIENCE_H_
