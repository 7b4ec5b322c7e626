// The memory that clients have registered, by the names that they gave it, each its own.
//
// Step of a request: 2, decide. A region is counted, then opened, then there; unregistering takes
// its name away, and the memory goes with the last lease: a thread of the table's closes it, and
// then it is no longer counted. The statuses are those of proto/warpfold/v1/tensor.proto.
//
// Safe from any thread. Nothing waits but Register, for the system. Leases must not outlive the
// table, nor the table the executors.
#ifndef WARPFOLD_SERVER_CORE_REGIONS_REGION_TABLE_H_
#define WARPFOLD_SERVER_CORE_REGIONS_REGION_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/core/base/caller.h"
#include "server/core/base/caller_share.h"
#include "server/core/base/limits.h"
#include "server/core/regions/closing_thread.h"
#include "server/core/regions/region.h"
#include "server/device/executor.h"

namespace warpfold {

struct RegionTableState {
  // By RegionKind: being registered, there, or unregistered and still in use.
  std::array<Holding, kRegionKindCount> open;
  std::uint64_t refused = 0;        // so far, for want of room
  std::uint64_t refused_share = 0;  // so far, as their owner's share was held

  const Holding& of(RegionKind kind) const { return open[static_cast<std::size_t>(kind)]; }
};

// A region as ListMemory tells of it.
struct RegionReport {
  RegionName name;
  RegionKind kind = RegionKind::kSystem;
  std::int64_t size_bytes = 0;
  std::int64_t uses = 0;
  std::string key;  // of shared memory, as the offset
  std::int64_t offset_bytes = 0;
  bool in_place = false;
  std::string device;               // of CUDA memory
  std::int64_t device_ordinal = 0;  // the same
};

class RegionTable {
 public:
  RegionTable(const std::vector<std::unique_ptr<Executor>>& executors, const RegionLimits& limits);
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // Opens a part of the segment `key` (shared_segment.h) and, where they can, maps it for the
  // devices' workers. Waits until its pages are there. UNIMPLEMENTED `key`: off; INVALID_ARGUMENT
  // `name`; ALREADY_EXISTS; RESOURCE_EXHAUSTED, with a delay or never fitting; and as
  // SharedSegment::Open and Executor::MapShared.
  absl::Status RegisterShared(const RegionName& name, const std::string& key,
                              std::int64_t offset_bytes, std::int64_t size_bytes,
                              const CallerQuotas& quotas = {}) ABSL_LOCKS_EXCLUDED(mutex_);

  // Opens another process's memory on device number `device_ordinal`. UNIMPLEMENTED `handle`: off;
  // INVALID_ARGUMENT `device_ordinal`; and as RegisterShared and Executor::OpenPeer.
  absl::Status RegisterCuda(const RegionName& name, const std::string& handle,
                            std::int64_t device_ordinal, std::int64_t size_bytes,
                            const CallerQuotas& quotas = {}) ABSL_LOCKS_EXCLUDED(mutex_);

  // NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION of `memory`.
  absl::StatusOr<RegionLease> Use(const RegionName& name, std::int64_t offset_bytes,
                                  std::int64_t size_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // For results. UNIMPLEMENTED, too: it lies on a GPU, where none is written.
  absl::StatusOr<RegionLease> UseForResults(const RegionName& name, std::int64_t offset_bytes,
                                            std::int64_t size_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // What is told how an Unregister ended: once what nobody uses is closed, on the table's thread,
  // or of an error in the call itself. Must not wait.
  using Unregistered = std::function<void(absl::Status)>;
  // NOT_FOUND `name`, too, of what the caller may not end.
  void Unregister(const Caller& caller, const RegionName& name, Unregistered done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The owner's of one kind; with a name that one, if it is there. OK.
  void UnregisterAll(RegionKind kind, const RegionName& name, Unregistered done)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For regions registered from now on.
  void SetLimits(const RegionLimits& limits) ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that the caller may end, by owner and name.
  std::vector<RegionReport> List(const Caller& caller) const ABSL_LOCKS_EXCLUDED(mutex_);
  RegionTableState state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using SharedRegion = std::shared_ptr<Region>;

  // A region that `open` opens, under its name once that is done.
  absl::Status Add(const RegionName& name, RegionKind kind, std::int64_t size_bytes,
                   const CallerQuotas& quotas, const std::function<absl::Status(Region&)>& open)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckOffer(const RegionName& name, RegionKind kind, std::int64_t size_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // What an offer that is one is refused for now; counts it then.
  absl::Status CheckRoom(RegionKind kind, std::int64_t size_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckOwnersShare(const std::string& owner, RegionKind kind, std::int64_t size_bytes,
                                const CallerQuotas& quotas) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::int64_t BytesMax(RegionKind kind) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return kind == RegionKind::kSystem ? limits_.shared_bytes_max : limits_.cuda_bytes_max;
  }
  Holdings& HeldOf(RegionKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_[static_cast<std::size_t>(kind)];
  }
  // One that is counted until it is closed; its name is taken, and nobody finds it yet.
  absl::StatusOr<std::unique_ptr<Region>> Reserve(const RegionName& name, RegionKind kind,
                                                  std::int64_t size_bytes,
                                                  const CallerQuotas& quotas)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status OpenShared(Region& region, const std::string& key, const std::string& prefix,
                          std::int64_t offset_bytes) const;
  // Without its name, which nobody finds any more; null: there is none.
  SharedRegion Remove(const RegionName& name) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the system and the device.
  void Close(Region* region) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<Executor*> executors_;  // unchanged from the start
  mutable absl::Mutex mutex_;
  RegionLimits limits_ ABSL_GUARDED_BY(mutex_);
  RegionTableState counts_ ABSL_GUARDED_BY(mutex_);                      // all but `open`
  std::array<Holdings, kRegionKindCount> held_ ABSL_GUARDED_BY(mutex_);  // by RegionKind
  ClosingThread closing_;  // after what it uses, before what it closes
  std::map<RegionName, SharedRegion> regions_ ABSL_GUARDED_BY(mutex_);  // null: being registered
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REGIONS_REGION_TABLE_H_
