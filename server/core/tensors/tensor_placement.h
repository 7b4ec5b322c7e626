// How much of each device resident tensors hold, and where the next one goes.
//
// Step of a request: 2, decide. Small tensors go where there is most room; those of
// ResidentLimits::split_bytes_min and more over as many devices as have room, the emptiest first.
// Not safe for concurrent use: the tensor table's lock guards it.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_TENSOR_PLACEMENT_H_
#define WARPFOLD_SERVER_CORE_TENSORS_TENSOR_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/base/limits.h"
#include "server/core/tensors/tensor_lease.h"
#include "server/device/executor.h"

namespace warpfold {

// A range of a tensor's bytes on one device, counted there.
struct PlacedRange {
  std::size_t device_index = 0;
  Executor* executor = nullptr;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
};

class TensorPlacement {
 public:
  explicit TensorPlacement(const std::vector<std::unique_ptr<Executor>>& executors);

  // Whether it would fit if no other tensor was there. RESOURCE_EXHAUSTED that never fits.
  absl::Status CheckFits(const TensorShape& shape, const ResidentLimits& limits) const;

  // Whether it fits now. RESOURCE_EXHAUSTED, without a kind: there is no room. UNAVAILABLE: no
  // device is left.
  absl::Status CheckRoom(const TensorShape& shape, const ResidentLimits& limits) const;

  // Counts the tensor where it fits, and says where that is: in order, all of its bytes. As
  // CheckRoom.
  absl::StatusOr<std::vector<PlacedRange>> Reserve(const TensorShape& shape,
                                                   const ResidentLimits& limits);
  void Unreserve(const std::vector<PlacedRange>& places);

  // Puts nothing there any more.
  void Lose(const DeviceInfo& device);
  bool AreAllLeft(const std::vector<PlacedRange>& places) const;
  std::int64_t left() const { return static_cast<std::int64_t>(Left().size()); }

 private:
  struct DeviceRoom {
    Executor* executor = nullptr;
    std::int64_t bytes = 0;
    bool lost = false;
  };

  // Those not lost, the emptiest first.
  std::vector<std::size_t> Left() const;
  absl::StatusOr<std::vector<PlacedRange>> FindRoom(const TensorShape& shape,
                                                    const ResidentLimits& limits) const;
  // Of the layouts over `left`, from the one over the most of them on, the first of which `fits`
  // says so of each place; none otherwise.
  template <typename Fits>
  std::vector<PlacedRange> FirstThat(const Fits& fits, const std::vector<std::size_t>& left,
                                     const TensorShape& shape, const ResidentLimits& limits) const;

  std::vector<DeviceRoom> devices_;  // one an executor
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_TENSOR_PLACEMENT_H_
