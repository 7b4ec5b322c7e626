// A work's bytes on their way into a lane.
//
// Step of a request: 3, on the lane's thread.
#ifndef WARPFOLD_SERVER_CORE_STAGE_H_
#define WARPFOLD_SERVER_CORE_STAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// Moves `byte_count` bytes of `source` into the lane, one buffer at a time; whether the work's
// answer is still wanted is asked before each. The lane's or the source's error, or why it is not
// wanted.
absl::Status Stage(Lane& lane, Work& work, PayloadSource& source, std::int64_t byte_count);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_STAGE_H_
