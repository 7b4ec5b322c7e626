// The bytes of a leased range of memory as a worker pulls them.
//
// Step of a request: 3. Not safe for concurrent use.
#ifndef WARPFOLD_SERVER_CORE_REQUEST_REGION_PAYLOAD_H_
#define WARPFOLD_SERVER_CORE_REQUEST_REGION_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/core/regions/region.h"
#include "server/core/request/task.h"

namespace warpfold {

class RegionPayload final : public PayloadSource {
 public:
  void Set(RegionLease lease) { lease_ = std::move(lease); }
  void Clear() { lease_.Release(); }
  explicit operator bool() const { return static_cast<bool>(lease_); }
  const RegionLease& lease() const { return lease_; }

  absl::Status ReadInto(absl::Span<std::byte> out) override {
    return lease_.Read(std::exchange(at_bytes_, at_bytes_ + std::ssize(out)), out);
  }
  const std::byte* InPlace(std::size_t byte_count) override {
    const std::byte* mapped = lease_.mapped();
    if (mapped == nullptr) return nullptr;
    return mapped + std::exchange(at_bytes_, at_bytes_ + static_cast<std::int64_t>(byte_count));
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

 private:
  RegionLease lease_;
  std::int64_t at_bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REQUEST_REGION_PAYLOAD_H_
