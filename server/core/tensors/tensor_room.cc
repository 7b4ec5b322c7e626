#include "server/core/tensors/tensor_room.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

std::int64_t BytesOf(const TensorRoom::Places& places) {
  std::int64_t bytes = 0;
  for (const PlacedRange& place : places) bytes += place.size_bytes;
  return bytes;
}

TensorRoom::Plan NoRoom(const TensorRoom::Asked& asked, absl::string_view why) {
  TensorRoom::Plan plan;
  plan.lack = TensorRoom::Plan::Lack::kRoom;
  // Not how many are held: other callers hold them.
  plan.why = RefusalStatus(RetryLater{asked.limits.retry_delay},
                           absl::StrCat("resident memory is full: ", why));
  return plan;
}

}  // namespace

// The room as it would be without the tensors that have to end.
class TensorRoom::Trial {
 public:
  Trial(const TensorRoom& room, const Asked& asked)
      : asked_(asked),
        placement_(room.placement_),
        count_(room.held_.all().count),
        own_(room.held_.Of(asked.owner)),
        all_(room.held_.all()) {}

  bool IsOwn(const ResidentTensor& tensor) const { return tensor.access.owner == asked_.owner; }

  // Another's, which may end for want of room: the owner's share leaves it out.
  void LeaveOut(const ResidentTensor& tensor) { all_ -= {1, tensor.shape.size_bytes}; }

  void End(const ResidentTensor& tensor) {
    placement_.Unreserve(tensor.places);
    --count_;
    if (!IsOwn(tensor)) return;
    own_ -= {1, tensor.shape.size_bytes};
    all_ -= {1, tensor.shape.size_bytes};
  }

  absl::Status CheckShare() const {
    if (asked_.owner.empty()) return absl::OkStatus();
    const ResidentLimits& limits = asked_.limits;
    const RetryLater later{limits.retry_delay};
    absl::Status share = warpfold::CheckShare(
        kSharedTensors,
        {own_.count, all_.count, limits.tensors_max, asked_.quotas.resident_tensors}, 1, later);
    if (!share.ok()) return share;
    const std::int64_t bytes_max = limits.bytes_max * placement_.left();
    return warpfold::CheckShare(kSharedTensorBytes,
                                {own_.bytes, all_.bytes, bytes_max, asked_.quotas.resident_bytes},
                                asked_.shape.size_bytes, later);
  }

  // As TensorPlacement::CheckRoom.
  absl::Status CheckRoom() const {
    if (count_ < asked_.limits.tensors_max)
      return placement_.CheckRoom(asked_.shape, asked_.limits);
    return absl::ResourceExhaustedError(absl::StrCat(asked_.limits.tensors_max, " tensors"));
  }
  bool LacksRoom() const { return absl::IsResourceExhausted(CheckRoom()); }

 private:
  const Asked& asked_;
  TensorPlacement placement_;
  std::int64_t count_;
  Holding own_;
  Holding all_;
};

TensorRoom::Plan TensorRoom::PlanFor(const Asked& asked,
                                     const std::vector<SharedTensor>& unused) const {
  Trial trial(*this, asked);
  const absl::Status room = trial.CheckRoom();
  if (absl::IsUnavailable(room)) return {};  // as Take says
  for (const SharedTensor& tensor : unused) {
    if (!trial.IsOwn(*tensor)) trial.LeaveOut(*tensor);
  }
  Plan plan;
  std::vector<SharedTensor> others;  // than those that end for the share
  absl::Status share = trial.CheckShare();
  for (const SharedTensor& tensor : unused) {
    const bool ends = !share.ok() && trial.IsOwn(*tensor);
    (ends ? plan.ends : others).push_back(tensor);
    if (!ends) continue;
    trial.End(*tensor);
    share = trial.CheckShare();
  }
  for (const SharedTensor& tensor : others) {
    if (share.ok() && !trial.LacksRoom()) break;
    trial.End(*tensor);
    plan.ends.push_back(tensor);
  }
  if (trial.LacksRoom()) return NoRoom(asked, room.message());
  if (!share.ok()) return {.lack = Plan::Lack::kShare, .why = std::move(share), .ends = {}};
  return plan;
}

absl::StatusOr<TensorRoom::Places> TensorRoom::Take(const Asked& asked) {
  absl::StatusOr<Places> places = placement_.Reserve(asked.shape, asked.limits);
  if (places.ok()) held_.Add(asked.owner, asked.shape.size_bytes);
  return places;
}

void TensorRoom::GiveBack(const std::string& owner, const Places& places) {
  placement_.Unreserve(places);
  held_.Remove(owner, BytesOf(places));
}

}  // namespace warpfold
