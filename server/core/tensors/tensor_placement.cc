#include "server/core/tensors/tensor_placement.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"
#include "server/core/tensors/shard_layout.h"

namespace warpfold {
TensorPlacement::TensorPlacement(const std::vector<std::unique_ptr<Executor>>& executors) {
  for (const std::unique_ptr<Executor>& executor : executors) devices_.push_back({executor.get()});
}

std::vector<std::size_t> TensorPlacement::Left() const {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i].lost) left.push_back(i);
  }
  std::stable_sort(left.begin(), left.end(), [this](std::size_t a, std::size_t b) {
    return devices_[a].bytes < devices_[b].bytes;
  });
  return left;
}

template <typename Fits>
std::vector<PlacedRange> TensorPlacement::FirstThat(const Fits& fits,
                                                    const std::vector<std::size_t>& left,
                                                    const TensorShape& shape,
                                                    const ResidentLimits& limits) const {
  std::size_t count = shape.size_bytes >= limits.split_bytes_min ? left.size() : 1;
  for (; count > 0; --count) {
    std::vector<PlacedRange> places;
    std::int64_t begin = 0;
    for (const std::int64_t end : ShardEnds(shape, count)) {
      const std::size_t device = left[places.size()];
      places.push_back({device, devices_[device].executor, begin, end - begin});
      begin = end;
    }
    if (std::all_of(places.begin(), places.end(), fits)) return places;
  }
  return {};
}

absl::Status TensorPlacement::CheckFits(const TensorShape& shape,
                                        const ResidentLimits& limits) const {
  const auto fits = [&limits](const PlacedRange& place) {
    return place.size_bytes <= limits.bytes_max;
  };
  const std::vector<std::size_t> left = Left();
  if (shape.size_bytes <= limits.tensor_bytes_max &&
      (left.empty() || !FirstThat(fits, left, shape, limits).empty())) {
    return absl::OkStatus();
  }
  return FieldStatus(
      Field::kTensor,
      RefusalStatus(
          NeverFits{},
          absl::StrCat(shape.size_bytes, " bytes are above the limit of resident tensors, ",
                       limits.tensor_bytes_max, " each and ", limits.bytes_max, " on each of ",
                       left.size(), " devices")));
}

absl::StatusOr<std::vector<PlacedRange>> TensorPlacement::FindRoom(
    const TensorShape& shape, const ResidentLimits& limits) const {
  const std::vector<std::size_t> left = Left();
  if (left.empty()) return absl::UnavailableError("every device is lost");
  const auto fits = [this, &limits](const PlacedRange& place) {
    return place.size_bytes <= limits.bytes_max - devices_[place.device_index].bytes;
  };
  std::vector<PlacedRange> places = FirstThat(fits, left, shape, limits);
  if (places.empty()) {
    // Not how many are held: other callers hold them.
    return absl::ResourceExhaustedError(
        absl::StrCat("too few of the ", limits.bytes_max, " bytes on each device are left"));
  }
  return places;
}

absl::Status TensorPlacement::CheckRoom(const TensorShape& shape,
                                        const ResidentLimits& limits) const {
  return FindRoom(shape, limits).status();
}

absl::StatusOr<std::vector<PlacedRange>> TensorPlacement::Reserve(const TensorShape& shape,
                                                                  const ResidentLimits& limits) {
  absl::StatusOr<std::vector<PlacedRange>> places = FindRoom(shape, limits);
  if (!places.ok()) return places;
  for (const PlacedRange& place : *places) devices_[place.device_index].bytes += place.size_bytes;
  return places;
}

void TensorPlacement::Unreserve(const std::vector<PlacedRange>& places) {
  for (const PlacedRange& place : places) devices_[place.device_index].bytes -= place.size_bytes;
}

void TensorPlacement::Lose(const DeviceInfo& device) {
  for (DeviceRoom& device_room : devices_) {
    if (&device_room.executor->info() == &device) device_room.lost = true;
  }
}

bool TensorPlacement::AreAllLeft(const std::vector<PlacedRange>& places) const {
  return std::none_of(places.begin(), places.end(), [this](const PlacedRange& place) {
    return devices_[place.device_index].lost;
  });
}

}  // namespace warpfold
