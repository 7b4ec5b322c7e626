// Who calls, and what they may do: plain values.
#ifndef WARPFOLD_SERVER_CORE_CALLER_H_
#define WARPFOLD_SERVER_CORE_CALLER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace warpfold {

enum class Scope : std::uint8_t { kReduce, kResident, kMemory };

struct ScopeRow {
  Scope scope;
  const char* name;  // in the file of callers; docs/callers.md says what it allows
};

// In the order of the enum.
inline constexpr ScopeRow kScopes[] = {
    {Scope::kReduce, "reduce"},
    {Scope::kResident, "resident"},
    {Scope::kMemory, "memory"},
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

 private:
  unsigned bits_ = 0;
};

struct Caller {
  std::string name;  // empty: one of all, on a server that asks nobody
  ScopeSet scopes;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_CALLER_H_
