// The room of resident tensors: on devices, in number, and within the shares of their owners
// (caller_share.h); and which tensors have to end for another to have it.
//
// Step of a request: 2, decide. Bytes are shared over all devices together. What nobody has used
// for long, and may end for want of room, is no share's but its owner's. Not safe for concurrent
// use: the tensor table's lock guards it.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_TENSOR_ROOM_H_
#define WARPFOLD_SERVER_CORE_TENSORS_TENSOR_ROOM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/base/caller.h"
#include "server/core/base/caller_share.h"
#include "server/core/base/limits.h"
#include "server/core/tensors/resident_tensor.h"
#include "server/core/tensors/tensor_placement.h"

namespace warpfold {

class TensorRoom {
 public:
  using SharedTensor = std::shared_ptr<ResidentTensor>;
  using Places = std::vector<PlacedRange>;

  // A tensor that is to be made.
  struct Asked {
    const std::string& owner;  // empty: everyone's, which is no share
    const CallerQuotas& quotas;
    const TensorShape& shape;
    const ResidentLimits& limits;
  };

  // What has to end for it; nothing helps where it lacks something.
  struct Plan {
    enum class Lack { kNothing, kRoom, kShare };
    Lack lack = Lack::kNothing;
    absl::Status why;  // it lacks that: RESOURCE_EXHAUSTED with RetryLater
    std::vector<SharedTensor> ends;
  };

  explicit TensorRoom(const std::vector<std::unique_ptr<Executor>>& executors)
      : placement_(executors) {}

  // Which of `unused`, the longest unused first, have to end. Of others' only as many as room
  // needs; for the share, the owner's own.
  Plan PlanFor(const Asked& asked, const std::vector<SharedTensor>& unused) const;

  // Counts the tensor, and says where it lies. As TensorPlacement::Reserve.
  absl::StatusOr<Places> Take(const Asked& asked);
  void GiveBack(const std::string& owner, const Places& places);

  const TensorPlacement& placement() const { return placement_; }
  void Lose(const DeviceInfo& device) { placement_.Lose(device); }

 private:
  class Trial;

  TensorPlacement placement_;
  Holdings held_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_TENSOR_ROOM_H_
