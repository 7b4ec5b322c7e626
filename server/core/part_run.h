// A work that is a part of a tensor on one lane: every node of the canonical tree in the part is a
// reduction of its own, which leaves states, and those are packed as they travel.
//
// Step of a request: 3, on the lane's thread.
//
// A node is a range of the outermost reduced run. Where kept elements lie outside of that run, the
// part's bytes come plane by plane and hold all nodes of each; small planes are gathered, so that a
// node of many planes is one reduction.
#ifndef WARPFOLD_SERVER_CORE_PART_RUN_H_
#define WARPFOLD_SERVER_CORE_PART_RUN_H_

#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "server/core/work.h"
#include "server/device/executor.h"

namespace warpfold {

// Reduces `part`, which is `work`'s, from its payload. Leaves the lane idle. The outcome has
// one string for each of ValueKindsOf(part.whole): the kind's values, [node][output].
absl::StatusOr<Outcome> ReducePart(Lane& lane, Work& work, const Part& part);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_PART_RUN_H_
