// How long a task keeps its worker while its client sends the next bytes.
//
// Step of a request: 3, on a worker's thread.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_PATIENCE_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_PATIENCE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "server/core/request/task.h"

namespace warpfold {

enum class Patience { kOthersWait, kNobodyWaits };

// While others wait for a worker: as long as a fast connection takes for them, 2 ns a byte. Leaving
// the worker at once cost eight streams on seven threads a tenth of their rate, since a GPU's
// worker has to be idle before its task leaves (H100, 2026-11-25).
inline std::chrono::steady_clock::duration WaitMax(Patience patience, std::size_t byte_count) {
  const std::chrono::nanoseconds transfer(2 * byte_count);
  if (patience == Patience::kOthersWait) return transfer;
  return std::max<std::chrono::nanoseconds>(transfer, std::chrono::milliseconds(20));
}

// Whether the next bytes are here, by then at the latest.
inline bool AwaitBytes(PayloadSource& source, std::size_t byte_count, Patience patience) {
  return source.AwaitBytes(byte_count,
                           std::chrono::steady_clock::now() + WaitMax(patience, byte_count));
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_PATIENCE_H_
