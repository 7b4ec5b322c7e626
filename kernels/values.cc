#include "kernels/values.h"

#include <bitset>

#include "kernels/exact/wire.h"

namespace warpfold {
namespace {

using KindSet = std::bitset<kValueKindCount>;

void AddKindsOf(Op op, KindSet& kinds) {
  const auto add = [&kinds](ValueKind kind) { kinds.set(static_cast<std::size_t>(kind)); };
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return add(ValueKind::kSum);
    case Op::kMin:
      return add(ValueKind::kMin);
    case Op::kMax:
      return add(ValueKind::kMax);
    case Op::kProd:
      return add(ValueKind::kProduct);
    case Op::kVar:
    case Op::kStd:
      add(ValueKind::kSum);
      return add(ValueKind::kSquareSum);
    case Op::kL1Norm:
      return add(ValueKind::kAbsSum);
    case Op::kL2Norm:
      return add(ValueKind::kSquareSum);
    case Op::kCountNonzero:
    case Op::kAny:
    case Op::kAll:
      return add(ValueKind::kNonzeroCount);
    case Op::kNanCount:
      return add(ValueKind::kNanCount);
    case Op::kInfCount:
      return add(ValueKind::kInfCount);
    case Op::kArgMin:
      return add(ValueKind::kArgMin);
    case Op::kArgMax:
      return add(ValueKind::kArgMax);
  }
  __builtin_unreachable();
}

}  // namespace

std::vector<ValueKind> ValueKindsOf(DType dtype, const std::vector<Op>& ops, NanPolicy nan_policy) {
  KindSet kinds;
  for (const Op op : ops) AddKindsOf(op, kinds);
  // How many elements take part is part of most answers.
  if (nan_policy == NanPolicy::kOmit && IsFloat(dtype)) {
    kinds.set(static_cast<std::size_t>(ValueKind::kNanCount));
  }
  std::vector<ValueKind> listed;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds.test(kind)) listed.push_back(static_cast<ValueKind>(kind));
  }
  return listed;
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
  const auto sum_bytes = [&](int power) {
    return VisitDType(dtype, [&](auto tag) {
      return exact::SumBytesMax(exact::SumRangeOf<typename decltype(tag)::type>(power));
    });
  };
  if (kind == ValueKind::kSum || kind == ValueKind::kAbsSum) return sum_bytes(1);
  if (kind == ValueKind::kSquareSum) return sum_bytes(2);
  return ValueBytes(kind, dtype);
}

}  // namespace warpfold
