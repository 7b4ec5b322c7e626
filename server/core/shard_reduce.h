// The reduction of a tensor that lies in shards on several devices: each shard on a lane of its own
// device, then all of them joined to the tensor's results, the bits of which are those of one
// device.
//
// Step of a request: 3. A shard is some of the planes of the reduction, whose outputs are its own
// and done on the device; or, where all of the reduction is one plane, a range of the outermost
// reduced run, whose values are merged on the host. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SHARD_REDUCE_H_
#define WARPFOLD_SERVER_CORE_SHARD_REDUCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/core/shard.h"
#include "server/device/executor.h"

namespace warpfold {

// What a shard came to: of planes their results, one string an op; of a range its values
// (part_values.h).
struct ShardResults {
  Range range;  // none: of planes
  std::vector<std::string> values;
  DeviceTimes times;
  HostCharge charge;  // for the values
};

// Reduces `shard` by `plan` on an idle lane of its device and leaves the lane idle. Errors as
// Lane::Reduce's.
absl::StatusOr<ShardResults> ReduceShard(Lane& lane, const Plan& plan, const Shard& shard);

// The results, one string an op, of a tensor whose shards came to `shards`, in their order.
// OUT_OF_RANGE as of a reduction; RESOURCE_EXHAUSTED: no memory for them.
absl::StatusOr<std::vector<std::string>> JoinShards(const Plan& whole,
                                                    absl::Span<const ShardResults> shards);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SHARD_REDUCE_H_
