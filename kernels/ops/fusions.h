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

enum class Bundle : std::uint8_t {
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
  Bundle bundle;
  const char* name;  // the metrics' op_class
  KindSet holds;
  const char* reason;
};

// A kind that nobody asked for costs little while a pass is bound by memory, and every further
// fusion costs build time. Of one kind, and of the range, a GPU's loops are unrolled.
inline constexpr FusionRow kFusionRows[] = {
    {Bundle::kSum, "sum", {ValueKind::kSum}, "SUM and MEAN are asked for most"},
    {Bundle::kMin, "min", {ValueKind::kMin}, "one instruction takes several narrow elements"},
    {Bundle::kMax, "max", {ValueKind::kMax}, "one instruction takes several narrow elements"},
    {Bundle::kNonzero, "nonzero", {ValueKind::kNonzeroCount}, "no sum of BOOL is needed for it"},
    {Bundle::kRange,
     "range",
     {ValueKind::kSum, ValueKind::kMin, ValueKind::kMax},
     "the bounds of a sum's error come with it"},
    {Bundle::kStatistics,
     "statistics",
     {ValueKind::kSum, ValueKind::kMin, ValueKind::kMax, ValueKind::kNanCount, ValueKind::kInfCount,
      ValueKind::kAbsSum, ValueKind::kSquareSum},
     "all that `describe` asks for, in one read"},
    {Bundle::kArg,
     "arg",
     {ValueKind::kArgMin, ValueKind::kArgMax},
     "an index takes more instructions than all other kinds"},
    {Bundle::kAll, "all", KindSet::All(), "any others together"},
    {Bundle::kOmitNan, "omit_nan", KindSet::All(), "any of floats without their NaN"}};

inline constexpr std::size_t kFusionCount = std::size(kFusionRows);

constexpr const FusionRow& RowOf(Bundle bundle) {
  return kFusionRows[static_cast<std::size_t>(bundle)];
}
static_assert(std::ranges::all_of(kFusionRows,
                                  [](const FusionRow& row) { return &row == &RowOf(row.bundle); }));

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
constexpr Bundle BundleFor(DType dtype, std::span<const Op> ops, NanPolicy nan_policy) {
  if (IsFloat(dtype) && nan_policy == NanPolicy::kOmit) return Bundle::kOmitNan;
  const KindSet needs = NeedsOf(ops);
  for (const FusionRow& row : kFusionRows) {
    if (row.holds.HasAllOf(needs)) return row.bundle;
  }
  return Bundle::kAll;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_FUSIONS_H_
