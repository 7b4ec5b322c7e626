#include "kernels/values.h"

#include <bitset>

#include "kernels/components.h"
#include "kernels/exact/wire.h"

namespace warpfold {
namespace {

bool SquaresExactly(DType dtype) {
  return VisitDType(dtype, [](auto tag) { return kSquaresExactly<typename decltype(tag)::type>; });
}

using KindSet = std::bitset<kValueKindCount>;

void AddKindsOf(Op op, DType dtype, Numerics numerics, KindSet& kinds) {
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
      if (numerics == Numerics::kOrdered && !SquaresExactly(dtype)) {
        return add(ValueKind::kMoments);
      }
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

std::vector<ValueKind> ValueKindsOf(DType dtype, const std::vector<Op>& ops, NanPolicy nan_policy,
                                    Numerics numerics) {
  KindSet kinds;
  for (const Op op : ops) AddKindsOf(op, dtype, numerics, kinds);
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
      return IsFloat(dtype) ? 8 : 16;
    case ValueKind::kSquareSum:
      return SquaresExactly(dtype) ? 16 : 8;
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
    case ValueKind::kMoments:
      return 24;
    case ValueKind::kProduct:
      return IsFloat(dtype) ? 8 : 16;
  }
  __builtin_unreachable();
}

std::size_t ExactValueBytesMax(ValueKind kind, DType dtype) {
  const auto sum_bytes = [&](int power) {
    return VisitDType(dtype, [&](auto tag) {
      return exact::SumBytesMax(exact::SumRangeOf<typename decltype(tag)::type>(power));
    });
  };
  if (kind == ValueKind::kSum || kind == ValueKind::kAbsSum) return sum_bytes(1);
  if (kind == ValueKind::kSquareSum) return sum_bytes(2);
  if (kind == ValueKind::kProduct && IsFloat(dtype)) return kExactProductBytes;
  return ValueBytes(kind, dtype);
}

bool DependsOnOrder(ValueKind kind, DType dtype) {
  if (kServesExactSums) return false;
  switch (kind) {
    case ValueKind::kSum:
    case ValueKind::kAbsSum:
    case ValueKind::kProduct:
      return IsFloat(dtype);
    case ValueKind::kSquareSum:
      return !SquaresExactly(dtype);
    case ValueKind::kMoments:
      return true;
    case ValueKind::kMin:
    case ValueKind::kMax:
    case ValueKind::kArgMin:
    case ValueKind::kArgMax:
    case ValueKind::kNonzeroCount:
    case ValueKind::kNanCount:
    case ValueKind::kInfCount:
      return false;
  }
  __builtin_unreachable();
}

}  // namespace warpfold
