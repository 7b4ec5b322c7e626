// The fusions that are compiled, and which of them serves a request: kinds of values that are
// computed in one read of the elements.
#ifndef WARPFOLD_KERNELS_OPS_FUSIONS_H_
#define WARPFOLD_KERNELS_OPS_FUSIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "kernels/ops/catalogue.h"
#include "kernels/ops/value_kind.h"
#include "kernels/types.h"

namespace warpfold {

enum class FusedOpSet : std::uint8_t {
  kSum,
  kMin,
  kMax,
  kNonzero,
  kRange,
  kStatistics,
  kArg,
  kAll,
  kOmitNan
};

struct FusionRow {
  FusedOpSet fused_op_set;
  const char* name;  // the metrics' op_class
  KindSet holds;
  const char* reason;
};

// A kind that nobody asked for costs little while a pass is bound by memory, and every further
// fusion costs build time. Of one kind, and of the range, a GPU's loops are unrolled.
inline constexpr FusionRow kFusionRows[] = {
    {FusedOpSet::kSum, "sum", {ValueKind::kSum}, "SUM and MEAN are asked for most"},
    {FusedOpSet::kMin, "min", {ValueKind::kMin}, "one instruction takes several narrow elements"},
    {FusedOpSet::kMax, "max", {ValueKind::kMax}, "one instruction takes several narrow elements"},
    {FusedOpSet::kNonzero,
     "nonzero",
     {ValueKind::kNonzeroCount},
     "no sum of BOOL is needed for it"},
    {FusedOpSet::kRange,
     "range",
     {ValueKind::kSum, ValueKind::kMin, ValueKind::kMax},
     "the bounds of a sum's error come with it"},
    {FusedOpSet::kStatistics,
     "statistics",
     {ValueKind::kSum, ValueKind::kMin, ValueKind::kMax, ValueKind::kNanCount, ValueKind::kInfCount,
      ValueKind::kAbsSum, ValueKind::kSquareSum},
     "all that `describe` asks for, in one read"},
    {FusedOpSet::kArg,
     "arg",
     {ValueKind::kArgMin, ValueKind::kArgMax},
     "an index takes more instructions than all other kinds"},
    {FusedOpSet::kAll, "all", KindSet::All(), "any others together"},
    {FusedOpSet::kOmitNan, "omit_nan", KindSet::All(), "any of floats without their NaN"}};

inline constexpr std::size_t kFusionCount = std::size(kFusionRows);

constexpr const FusionRow& RowOf(FusedOpSet fused_op_set) {
  return kFusionRows[static_cast<std::size_t>(fused_op_set)];
}
static_assert(std::ranges::all_of(kFusionRows, [](const FusionRow& row) {
  return &row == &RowOf(row.fused_op_set);
}));

// Of two that share a kind the first has no more kinds than the second.
static_assert([] {
  for (std::size_t i = 0; i < kFusionCount; ++i) {
    for (std::size_t j = i + 1; j < kFusionCount; ++j) {
      const KindSet one = kFusionRows[i].holds;
      const KindSet other = kFusionRows[j].holds;
      if (one.HasAnyOf(other) && one.size() > other.size()) return false;
    }
  }
  return true;
}());

// The fusion of fewest kinds that has all that `ops` are computed from: the first that does.
// Asked several times a request.
constexpr FusedOpSet FusedOpSetFor(DType dtype, std::span<const Op> ops, NanPolicy nan_policy) {
  if (IsFloat(dtype) && nan_policy == NanPolicy::kOmit) return FusedOpSet::kOmitNan;
  const KindSet needs = NeedsOf(ops);
  for (const FusionRow& row : kFusionRows) {
    if (row.holds.HasAllOf(needs)) return row.fused_op_set;
  }
  return FusedOpSet::kAll;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_FUSIONS_H_
