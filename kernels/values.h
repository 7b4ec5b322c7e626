// What a partial state holds of each output: values of the kinds (ops/value_kind.h) that its ops
// are computed from, by which it travels.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_VALUES_H_
#define WARPFOLD_KERNELS_VALUES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "kernels/ops/value_kind.h"
#include "kernels/types.h"

namespace warpfold {

inline constexpr std::array kAllValueKinds = {
    ValueKind::kSum,      ValueKind::kAbsSum,   ValueKind::kSquareSum, ValueKind::kMin,
    ValueKind::kMax,      ValueKind::kArgMin,   ValueKind::kArgMax,    ValueKind::kNonzeroCount,
    ValueKind::kNanCount, ValueKind::kInfCount, ValueKind::kProduct};
static_assert(std::size(kAllValueKinds) == kValueKindCount);

// "sum": the proto's PartialState.Kind without _VALUES, in lower case.
constexpr const char* Name(ValueKind kind) {
  constexpr const char* kNames[] = {"sum",       "abs_sum",   "square_sum", "min",
                                    "max",       "argmin",    "argmax",     "nonzero_count",
                                    "nan_count", "inf_count", "product"};
  static_assert(std::size(kNames) == kValueKindCount);
  return kNames[static_cast<std::size_t>(kind)];
}

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
