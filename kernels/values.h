// What a partial state holds of each output: the kinds of values, by which it travels. A kind is a
// component (components.h) by name, whatever it is fused with.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_VALUES_H_
#define WARPFOLD_KERNELS_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/types.h"

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
inline constexpr ValueKind kAllValueKinds[] = {
    ValueKind::kSum,      ValueKind::kAbsSum,   ValueKind::kSquareSum, ValueKind::kMin,
    ValueKind::kMax,      ValueKind::kArgMin,   ValueKind::kArgMax,    ValueKind::kNonzeroCount,
    ValueKind::kNanCount, ValueKind::kInfCount, ValueKind::kProduct};
inline constexpr int kValueKindCount = 11;

// The revisions in which values of a kind are read; they are written in the newest. A kind whose
// packed bytes change, or their meaning, gets a newer one.
struct Revisions {
  std::uint32_t oldest = 1;
  std::uint32_t newest = 1;
};
constexpr Revisions RevisionsOf(ValueKind /*kind*/) { return {}; }

// The kinds that `ops` are made of, ascending. They do not depend on how components are fused.
std::vector<ValueKind> ValueKindsOf(DType dtype, const std::vector<Op>& ops, NanPolicy nan_policy);

// Bytes of one packed value. REQUIRES: it is no sum, of which each has as many as it needs.
std::size_t ValueBytes(ValueKind kind, DType dtype);
// Of a packed product of floats.
inline constexpr std::size_t kFloatProductBytes = 33;
// The most that one packed value (cpu/exact_pack.h) may have.
std::size_t ValueBytesMax(ValueKind kind, DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_VALUES_H_
