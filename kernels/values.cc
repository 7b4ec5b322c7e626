#include "kernels/values.h"

#include "kernels/exact/wire.h"
#include "kernels/ops/catalogue.h"

namespace warpfold {

std::vector<ValueKind> ValueKindsOf(DType dtype, const std::vector<Op>& ops, NanPolicy nan_policy) {
  KindSet needs = NeedsOf(ops);
  // How many elements take part is part of most answers.
  if (nan_policy == NanPolicy::kOmit && IsFloat(dtype)) needs.Add(ValueKind::kNanCount);
  std::vector<ValueKind> kinds;
  for (const ValueKind kind : kAllValueKinds) {
    if (needs.Has(kind)) kinds.push_back(kind);
  }
  return kinds;
}

std::size_t ValueBytes(ValueKind kind, DType dtype) {
  switch (kind) {
    case ValueKind::kSum:
    case ValueKind::kAbsSum:
    case ValueKind::kSquareSum:
      break;
    case ValueKind::kMin:
    case ValueKind::kMax:
      return ElementBytes(dtype) == 8 ? 8 : 4;
    case ValueKind::kArgMin:
    case ValueKind::kArgMax:
      return 16;
    case ValueKind::kNonzeroCount:
    case ValueKind::kNanCount:
    case ValueKind::kInfCount:
      return 8;
    case ValueKind::kProduct:
      return IsFloat(dtype) ? kFloatProductBytes : 16;
  }
  __builtin_unreachable();
}

std::size_t ValueBytesMax(ValueKind kind, DType dtype) {
  if (kind == ValueKind::kSum || kind == ValueKind::kAbsSum) {
    return exact::SumBytesMax(exact::SumRangeOf(dtype, 1));
  }
  if (kind == ValueKind::kSquareSum) return exact::SumBytesMax(exact::SumRangeOf(dtype, 2));
  return ValueBytes(kind, dtype);
}

}  // namespace warpfold
