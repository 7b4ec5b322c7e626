// Who calls, and what they may do: plain values.
#ifndef WARPFOLD_SERVER_CORE_BASE_CALLER_H_
#define WARPFOLD_SERVER_CORE_BASE_CALLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace warpfold {

enum class Scope : std::uint8_t { kReduce, kResident, kMemory, kMetrics, kAdmin };

struct ScopeRow {
  Scope scope;
  const char* name;  // in the file of callers; docs/callers.md says what it allows
};

// In the order of the enum.
inline constexpr ScopeRow kScopes[] = {
    {Scope::kReduce, "reduce"},   {Scope::kResident, "resident"}, {Scope::kMemory, "memory"},
    {Scope::kMetrics, "metrics"}, {Scope::kAdmin, "admin"},
};

constexpr const char* Name(Scope scope) { return kScopes[static_cast<std::size_t>(scope)].name; }

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  constexpr ScopeSet(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) Add(scope);
  }
  static constexpr ScopeSet All() {
    ScopeSet all;
    for (const ScopeRow& row : kScopes) all.Add(row.scope);
    return all;
  }

  constexpr void Add(Scope scope) { bits_ |= 1U << static_cast<unsigned>(scope); }
  constexpr bool Has(Scope scope) const {
    return (bits_ >> static_cast<unsigned>(scope) & 1U) != 0;
  }
  constexpr bool operator==(const ScopeSet&) const = default;

 private:
  unsigned bits_ = 0;
};

// What the operator lets a caller hold instead of its share (caller_share.h). None: its share.
struct CallerQuotas {
  std::optional<std::int64_t> requests = std::nullopt;  // in flight
  std::optional<std::int64_t> bytes = std::nullopt;     // in flight
  std::optional<std::int64_t> resident_tensors = std::nullopt;
  std::optional<std::int64_t> resident_bytes = std::nullopt;
  std::optional<std::int64_t> regions = std::nullopt;

  bool operator==(const CallerQuotas&) const = default;
};

// What one caller holds of what all share. Its address tells the caller's tasks from those of
// others.
struct CallerUse {
  explicit CallerUse(const CallerQuotas& quotas = {}) { SetQuotas(quotas); }

  // From now on, of what is in flight.
  void SetQuotas(const CallerQuotas& quotas) {
    requests_quota_ = quotas.requests.value_or(kNoQuota);
    bytes_quota_ = quotas.bytes.value_or(kNoQuota);
  }
  std::optional<std::int64_t> QuotaOfRequests() const { return QuotaIn(requests_quota_); }
  std::optional<std::int64_t> QuotaOfBytes() const { return QuotaIn(bytes_quota_); }

  // Of admission.h, under its lock.
  std::int64_t requests = 0;         // in flight
  std::int64_t worker_requests = 0;  // of them, those that need a worker
  std::int64_t bytes = 0;            // in flight

  std::atomic<std::int64_t> streams{0};  // of many items each, that are open

 private:
  static constexpr std::int64_t kNoQuota = -1;
  static std::optional<std::int64_t> QuotaIn(const std::atomic<std::int64_t>& quota) {
    const std::int64_t value = quota;
    return value == kNoQuota ? std::nullopt : std::optional(value);
  }

  std::atomic<std::int64_t> requests_quota_{kNoQuota};
  std::atomic<std::int64_t> bytes_quota_{kNoQuota};
};

struct Caller {
  std::string name;  // empty: one of all, on a server that asks nobody
  ScopeSet scopes;
  std::shared_ptr<CallerUse> use = nullptr;  // null: everyone's, who share with nobody
  CallerQuotas quotas{};
};

// Whose requests are served where nobody is asked: may do all.
const Caller& Everyone();
// Whose calls are refused: may do nothing.
const Caller& Nobody();

// Whoever shows nothing.
inline constexpr char kAnonymousCaller[] = "anonymous";
// Every caller, where a name of one is asked for. No caller has it.
inline constexpr char kAnyCaller[] = "any";

// INVALID_ARGUMENT: not 1 to 64 letters, digits, '.', '_' and '-'.
absl::Status CheckCallerName(absl::string_view name);

// Who may use what a caller made and left on the server.
struct Access {
  std::string owner;                   // the name of who made it
  std::vector<std::string> readers{};  // and of who else may read it

  bool MayWrite(const Caller& caller) const { return caller.name == owner; }
  bool MayRead(const Caller& caller) const;
  // And see that it is there.
  bool MayEnd(const Caller& caller) const {
    return caller.name == owner || caller.scopes.Has(Scope::kAdmin);
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_CALLER_H_
