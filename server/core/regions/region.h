// Memory of a client's under a name, and the right of one call to use a range of it: while that is
// held the memory stays open, unregistered or not.
//
// Step of a request: 2, decide, until the answer. A lease is move-only; a default or moved-from one
// holds nothing. Not safe for concurrent use. Leases must not outlive the table (region_table.h)
// that made them.
#ifndef WARPFOLD_SERVER_CORE_REGIONS_REGION_H_
#define WARPFOLD_SERVER_CORE_REGIONS_REGION_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/field_error.h"
#include "server/core/regions/shared_segment.h"
#include "server/device/executor.h"

namespace warpfold {

// In a POSIX shared memory segment; on a GPU.
enum class RegionKind { kSystem, kCuda };
inline constexpr std::size_t kRegionKindCount = 2;

// What callers name a region by: each has names of its own.
struct RegionName {
  std::string owner;  // the caller's name
  std::string name;

  friend auto operator<=>(const RegionName&, const RegionName&) = default;
};

// Unchanged from its registration to its end.
struct Region {
  std::string owner;
  RegionKind kind = RegionKind::kSystem;
  std::int64_t size_bytes = 0;
  // kSystem
  SharedSegment segment;
  std::unique_ptr<TensorMemory> mapped;  // null: workers do not read it in place
  // kCuda
  std::unique_ptr<PeerMemory> peer;
  const DeviceInfo* device = nullptr;  // where it lies
  std::int64_t device_ordinal = 0;     // that one's
};

class RegionLease {
 public:
  RegionLease() = default;
  RegionLease(std::shared_ptr<const Region> region, std::int64_t offset_bytes,
              std::int64_t size_bytes)
      : region_(std::move(region)), offset_bytes_(offset_bytes), size_bytes_(size_bytes) {}
  RegionLease(RegionLease&&) noexcept = default;
  RegionLease& operator=(RegionLease&&) noexcept = default;

  explicit operator bool() const { return region_ != nullptr; }
  void Release() { region_ = nullptr; }

  // REQUIRES of these: it holds a range.
  std::int64_t size_bytes() const { return size_bytes_; }
  // The device on which it lies, and where there; null: in shared memory.
  const DeviceInfo* device() const { return region_->device; }
  const std::byte* device_data() const {
    return region_->peer == nullptr ? nullptr : region_->peer->data() + offset_bytes_;
  }
  // Where the range begins for workers to read in place; null: they do not.
  const std::byte* mapped() const {
    return region_->mapped == nullptr ? nullptr : region_->mapped->data() + offset_bytes_;
  }
  // Fills `out` from `at_bytes` of the range on. FAILED_PRECONDITION: the segment has shrunk.
  absl::Status Read(std::int64_t at_bytes, absl::Span<std::byte> out) const {
    return region_->segment.Read(offset_bytes_ + at_bytes, out);
  }

  // Puts `bytes`, at most size_bytes(), where the range begins. FAILED_PRECONDITION: the segment
  // has shrunk, or the server may only read it. DeviceLostError.
  absl::Status Write(absl::string_view bytes) const {
    if (region_->peer != nullptr) return region_->peer->Write(offset_bytes_, bytes);
    if (region_->segment.is_writable()) return region_->segment.Write(offset_bytes_, bytes);
    return FieldStatus(Field::kMemoryName,
                       absl::FailedPreconditionError("the server may not write the segment"));
  }

 private:
  std::shared_ptr<const Region> region_;
  std::int64_t offset_bytes_ = 0;
  std::int64_t size_bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REGIONS_REGION_H_
