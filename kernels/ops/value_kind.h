// The kinds of values that ops are computed from. What a reduction accumulates of each output, and
// what a partial state holds of it, are values of these kinds; what they are fused with changes
// none of them.
#ifndef WARPFOLD_KERNELS_OPS_VALUE_KIND_H_
#define WARPFOLD_KERNELS_OPS_VALUE_KIND_H_

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "kernels/host_device.h"

namespace warpfold {

// In the order in which a state has them; the proto's PartialState says what each one is.
enum class ValueKind : std::uint8_t {
  kSum,
  kAbsSum,
  kSquareSum,
  kMin,
  kMax,
  kArgMin,
  kArgMax,
  kNonzeroCount,
  kNanCount,
  kInfCount,
  kProduct
};
inline constexpr int kValueKindCount = 11;

// A set of kinds.
class KindSet {
 public:
  constexpr KindSet() = default;
  constexpr KindSet(std::initializer_list<ValueKind> kinds) {
    for (const ValueKind kind : kinds) Add(kind);
  }
  static constexpr KindSet All() {
    KindSet all;
    all.bits_ = (1u << kValueKindCount) - 1;
    return all;
  }

  constexpr void Add(ValueKind kind) { bits_ |= 1u << static_cast<int>(kind); }
  constexpr void Add(KindSet other) { bits_ |= other.bits_; }
  constexpr bool Has(ValueKind kind) const { return (bits_ >> static_cast<int>(kind) & 1) != 0; }
  constexpr bool HasAllOf(KindSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool HasAnyOf(KindSet other) const { return (other.bits_ & bits_) != 0; }
  constexpr int size() const { return std::popcount(bits_); }
  friend constexpr bool operator==(KindSet, KindSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_VALUE_KIND_H_
