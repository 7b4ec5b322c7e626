// Memory of the host that a request makes the server take, 64 KiB and more at a time: counted
// against a budget, and where there is none the request's refusal, not the process' end.
//
// Less than that is not counted and not refused: whoever needs it cannot go on without
// (server/out_of_memory.h). Safe from any thread.
#ifndef WARPFOLD_SERVER_DEVICE_HOST_BYTES_H_
#define WARPFOLD_SERVER_DEVICE_HOST_BYTES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace warpfold {

inline constexpr std::size_t kLargeBytes = std::size_t{64} << 10;

// What requests have taken, and the most that they may: of the process, which has one memory.
class HostBudget {
 public:
  struct State {
    std::int64_t used_bytes = 0;
    std::int64_t limit_bytes = 0;
    std::uint64_t refused = 0;  // also what the system did not give
  };

  static HostBudget& OfProcess();

  // From now on; what is taken stays. None until then.
  void SetLimit(std::int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  State state() const;

 private:
  friend class HostCharge;
  friend absl::Status NoHostMemory();

  bool Take(std::int64_t bytes);
  void Return(std::int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> limit_{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::uint64_t> refused_{0};
};

// RESOURCE_EXHAUSTED, marked as what passes: the system did not give what the request needs.
absl::Status NoHostMemory();

// Whether `status` says that there is no memory now, and may be some when others are done.
bool IsNoHostMemory(const absl::Status& status);

// A place in the budget. Move-only; gives back what it holds. Below kLargeBytes it holds nothing.
class HostCharge {
 public:
  // RESOURCE_EXHAUSTED: more than the budget; or, with IsNoHostMemory, than what is left of it.
  static absl::StatusOr<HostCharge> Take(std::size_t size_bytes);

  HostCharge() = default;
  HostCharge(HostCharge&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  HostCharge& operator=(HostCharge&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostCharge() {
    if (bytes_ > 0) HostBudget::OfProcess().Return(bytes_);
  }

 private:
  explicit HostCharge(std::int64_t bytes) : bytes_(bytes) {}

  std::int64_t bytes_ = 0;
};

// A block that std::free gives back, its contents undefined; null: the system has none. The budget
// is not asked.
void* AllocateOrNull(std::size_t size_bytes);

// A block of memory, its contents undefined, and its place in the budget.
class HostBytes {
 public:
  // RESOURCE_EXHAUSTED: as HostCharge::Take, or the system has none.
  static absl::StatusOr<HostBytes> Take(std::size_t size_bytes);

  HostBytes() = default;
  std::byte* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  HostCharge charge_;
  std::unique_ptr<std::byte, Free> data_;
};

// While one lives, what its thread cannot allocate is std::bad_alloc, and not the process' end.
// Never around calls into gRPC, whose frames are not made for exceptions.
class BadAllocScope {
 public:
  BadAllocScope() { Add(1); }
  ~BadAllocScope() { Add(-1); }
  BadAllocScope(const BadAllocScope&) = delete;
  BadAllocScope& operator=(const BadAllocScope&) = delete;

  static bool IsOpen();

 private:
  static void Add(int count);
};

// What `allocate` returns, an absl::Status or StatusOr; NoHostMemory where containers in it find no
// memory. The budget is not asked.
template <typename Allocate>
auto OrNoHostMemory(Allocate allocate) -> decltype(allocate()) {
  try {
    const BadAllocScope scope;
    return allocate();
  } catch (const std::bad_alloc&) {
    return NoHostMemory();
  }
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_HOST_BYTES_H_
