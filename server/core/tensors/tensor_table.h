// The tensors that stay: who they are, where they lie, which of their bytes are there, who uses
// them, and when they go.
//
// Step of a request: 2, decide. A tensor is made with its memory counted, then taken; a lease keeps
// it while a reduction reads it or a write fills it; deleting it, consuming it, its time to live,
// its device's loss, or another tensor's need of room end it, and its memory goes with the last
// lease. To a caller who may not do something with it (caller.h) it is not there. The statuses are
// those of proto/warpfold/v1/tensor.proto.
//
// Safe from any thread. Nothing waits, but Create for the device's memory. Leases must not outlive
// the table, nor the table the executors.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_TENSOR_TABLE_H_
#define WARPFOLD_SERVER_CORE_TENSORS_TENSOR_TABLE_H_

#include <array>
#include <chrono>
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
#include "server/core/base/cancel_token.h"
#include "server/core/base/limits.h"
#include "server/core/tensors/tensor_lease.h"
#include "server/core/tensors/tensor_room.h"
#include "server/device/executor.h"

namespace warpfold {

// Why a tensor ended.
enum class TensorEnd { kDeleted, kConsumed, kExpired, kDeviceLost, kMadeRoom };
inline constexpr std::size_t kTensorEndCount = 5;

struct TensorTableState {
  Holding incomplete;  // bytes are missing
  Holding complete;
  Holding ending;               // ended, and still in use or being freed
  std::int64_t reductions = 0;  // leases
  std::int64_t writes = 0;
  std::array<std::uint64_t, kTensorEndCount> ended{};  // so far, by TensorEnd
  std::uint64_t refused = 0;                           // so far, for want of room
  std::uint64_t refused_share = 0;                     // so far, as their owner's share was held
};

// A tensor as ListTensors tells of it.
struct TensorReport {
  std::string id;
  Access access;
  TensorShape shape;
  std::int64_t missing_bytes = 0;
  std::string device;
  std::int64_t reductions = 0;
  std::int64_t writes = 0;
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds idle{0};  // since the last use
};

class TensorTable {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  TensorTable(const std::vector<std::unique_ptr<Executor>>& executors, const ResidentLimits& limits,
              Clock clock = std::chrono::steady_clock::now);
  TensorTable(const TensorTable&) = delete;
  TensorTable& operator=(const TensorTable&) = delete;

  struct Created {
    std::string id;
    std::chrono::milliseconds ttl{0};
  };
  // Takes memory on the device that has the most room, or on several (tensor_placement.h). Where
  // none has, tensors that nobody has used for the default ttl end, the longest unused first, if
  // that makes room; where the owner holds its share or its quota (caller_share.h), such tensors of
  // its own. A `ttl` of 0 is the default one. INVALID_ARGUMENT `ttl_ms`; RESOURCE_EXHAUSTED, with a
  // delay or never fitting; UNAVAILABLE: no device is left.
  absl::StatusOr<Created> Create(Access access, TensorShape shape, std::chrono::milliseconds ttl,
                                 const CallerQuotas& quotas = {}) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a reduction, which ends the tensor if it is to `consume` it. NOT_FOUND,
  // FAILED_PRECONDITION; PERMISSION_DENIED `consume`.
  absl::StatusOr<TensorReadLease> Read(const Caller& caller, const std::string& id, bool consume)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For a write of `size_bytes` from `offset_bytes` on, which count as not written from here on.
  // `writer`, if there is one, outlives the lease and is cancelled with NOT_FOUND where the tensor
  // ends meanwhile. NOT_FOUND, ABORTED, INVALID_ARGUMENT `offset_bytes`, `size_bytes`,
  // RESOURCE_EXHAUSTED that never fits.
  absl::StatusOr<TensorWriteLease> Write(const Caller& caller, const std::string& id,
                                         std::int64_t offset_bytes, std::int64_t size_bytes,
                                         CancelToken* writer = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // The name of its owner. NOT_FOUND.
  absl::StatusOr<std::string> Delete(const Caller& caller, const std::string& id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends what lies on a lost device, and puts nothing there any more.
  void DropDevice(const DeviceInfo& device) ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives back the memory of tensors whose time to live has passed. They are NOT_FOUND without it.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  // For tensors made from now on.
  void SetLimits(const ResidentLimits& limits) ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that the caller may end.
  std::vector<TensorReport> List(const Caller& caller) const ABSL_LOCKS_EXCLUDED(mutex_);
  TensorTableState state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class TensorReadLease;
  friend class TensorWriteLease;
  using SharedTensor = std::shared_ptr<ResidentTensor>;

  // Counts a tensor and its bytes where they fit, and says where; counts it, too, if it is refused.
  // Where others have to end for it notes that in `gone`, for the caller to Free them and to try
  // again.
  absl::StatusOr<std::vector<PlacedRange>> Reserve(const TensorRoom::Asked& asked,
                                                   std::vector<SharedTensor>& gone)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those that may end for want of room, the longest unused first.
  std::vector<SharedTensor> Unused() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // On the devices of its places.
  absl::Status TakeMemory(ResidentTensor& tensor) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<SharedTensor> Make(Access access, TensorShape shape, const CallerQuotas& quotas)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND, too, of what the caller may not do with it.
  using May = bool (Access::*)(const Caller& caller) const;
  absl::StatusOr<SharedTensor> Find(const std::string& id, const Caller& caller, May may) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool IsExpired(const ResidentTensor& tensor) const;
  // Ends what `which` says, and frees what of that is not in use.
  template <typename Predicate>
  void EndAll(TensorEnd why, const Predicate& which) ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes the tensor as ended; it is no longer in tensors_.
  void NoteEnd(ResidentTensor& tensor, TensorEnd why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: it has ended and nobody uses it.
  void Free(ResidentTensor& tensor) ABSL_LOCKS_EXCLUDED(mutex_);

  void EndRead(const SharedTensor& tensor, bool consume) ABSL_LOCKS_EXCLUDED(mutex_);
  // The bytes still missing, or NOT_FOUND.
  absl::StatusOr<std::int64_t> EndWrite(const SharedTensor& tensor, const ByteRange& range,
                                        CancelToken* writer, bool is_written)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock clock_;
  mutable absl::Mutex mutex_;
  ResidentLimits limits_ ABSL_GUARDED_BY(mutex_);
  TensorRoom room_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SharedTensor> tensors_ ABSL_GUARDED_BY(mutex_);  // by id
  TensorTableState counts_ ABSL_GUARDED_BY(mutex_);  // all but `incomplete` and `complete`
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_TENSOR_TABLE_H_
