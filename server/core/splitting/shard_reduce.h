// The reduction of a tensor that lies in shards on several devices: each shard on a worker of its
// own device, then all of them joined to the tensor's results, the bits of which are those of one
// device.
//
// Step of a request: 3. A shard has outputs of its own, which are done on the device, where the
// first dimension longer than 1 is kept; where that is reduced, it is a part (kernels/part.h). Of
// that it comes to partials, which a worker joins and which may leave undecided results
// (Worker::JoinPartials), or to exact values, which are merged on the host. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SPLITTING_SHARD_REDUCE_H_
#define WARPFOLD_SERVER_CORE_SPLITTING_SHARD_REDUCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/core/tensors/shard.h"
#include "server/device/executor.h"

namespace warpfold {

// What a shard came to: of whole outputs their results, one string an op; of a part its values
// (part_values.h) or its partials.
struct ShardResults {
  Box box;
  bool are_partials = false;
  std::vector<std::string> values;  // none where its device had no room for partials
  DeviceTimes times;
  HostCharge charge;  // for the values
};

// Reduces `shard` by `plan` on an idle worker of its device and leaves the worker idle; to partials
// only unless `exactly`. Errors as Worker::Reduce's.
absl::StatusOr<ShardResults> ReduceShard(Worker& worker, const Plan& plan, const Shard& shard,
                                         bool exactly);

// The results, one string an op, of a tensor whose shards came to `shards`, in their order; none:
// they are undecided, and the shards have to be reduced exactly. On an idle worker of any of their
// devices. Takes their values. OUT_OF_RANGE as of a reduction; RESOURCE_EXHAUSTED: no memory for
// them.
absl::StatusOr<std::optional<std::vector<std::string>>> JoinShards(Worker& worker,
                                                                   const Plan& whole,
                                                                   absl::Span<ShardResults> shards);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLITTING_SHARD_REDUCE_H_
