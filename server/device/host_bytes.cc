#include "server/device/host_bytes.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

constexpr char kPassesKey[] = "warpfold/no-host-memory";

// Volatile: the compiler takes it that malloc reads no variable of ours, and would leave out an
// addition before and a subtraction after it. tcmalloc's asks the new handler, which does read it.
thread_local volatile int scope_depth = 0;

// It may fit when others are done.
absl::Status Passing(absl::Status status) {
  status.SetPayload(kPassesKey, absl::Cord());
  return status;
}

}  // namespace

HostBudget& HostBudget::OfProcess() {
  static HostBudget budget;  // of atomics: its end is nothing
  return budget;
}

HostBudget::State HostBudget::state() const {
  return {used_.load(std::memory_order_relaxed), limit_.load(std::memory_order_relaxed),
          refused_.load(std::memory_order_relaxed)};
}

bool HostBudget::Take(std::int64_t bytes) {
  std::int64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_.load(std::memory_order_relaxed) - used) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

absl::Status NoHostMemory() {
  HostBudget::OfProcess().refused_.fetch_add(1, std::memory_order_relaxed);
  return Passing(
      absl::ResourceExhaustedError("memory: the system has none for the request at the moment"));
}

bool IsNoHostMemory(const absl::Status& status) {
  return status.GetPayload(kPassesKey).has_value();
}

absl::StatusOr<HostCharge> HostCharge::Take(std::size_t size_bytes) {
  if (size_bytes < kLargeBytes) return HostCharge();
  HostBudget& budget = HostBudget::OfProcess();
  const auto bytes = static_cast<std::int64_t>(size_bytes);
  if (budget.Take(bytes)) return HostCharge(bytes);
  const std::int64_t limit_bytes = budget.state().limit_bytes;
  if (bytes > limit_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("memory: the request takes ", size_bytes,
                                                     " bytes, more than the ", limit_bytes,
                                                     " that all requests share"));
  }
  return Passing(absl::ResourceExhaustedError(
      absl::StrCat("memory: the request takes ", size_bytes, " bytes, more than is left of the ",
                   limit_bytes, " that all requests share")));
}

void* AllocateOrNull(std::size_t size_bytes) {
  // malloc asks the new handler where it is tcmalloc's.
  const BadAllocScope scope;
  return std::malloc(size_bytes);
}

absl::StatusOr<HostBytes> HostBytes::Take(std::size_t size_bytes) {
  absl::StatusOr<HostCharge> charge = HostCharge::Take(size_bytes);
  if (!charge.ok()) return charge.status();
  HostBytes bytes;
  bytes.charge_ = *std::move(charge);
  bytes.data_.reset(static_cast<std::byte*>(AllocateOrNull(size_bytes)));
  if (bytes.data_ == nullptr && size_bytes > 0) return NoHostMemory();
  return bytes;
}

bool BadAllocScope::IsOpen() { return scope_depth > 0; }

void BadAllocScope::Add(int count) { scope_depth = scope_depth + count; }

}  // namespace warpfold
