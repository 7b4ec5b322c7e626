#include "kernels/types.h"

namespace warpfold {

const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
    case DType::kI16:
      return "i16";
    case DType::kU16:
      return "u16";
    case DType::kI32:
      return "i32";
    case DType::kU32:
      return "u32";
    case DType::kI64:
      return "i64";
    case DType::kU64:
      return "u64";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
  }
  __builtin_unreachable();
}

const char* Name(Op op) {
  switch (op) {
    case Op::kSum:
      return "sum";
    case Op::kMin:
      return "min";
    case Op::kMax:
      return "max";
    case Op::kMean:
      return "mean";
    case Op::kProd:
      return "prod";
    case Op::kVar:
      return "var";
    case Op::kStd:
      return "std";
    case Op::kL1Norm:
      return "l1_norm";
    case Op::kL2Norm:
      return "l2_norm";
    case Op::kCountNonzero:
      return "count_nonzero";
    case Op::kAny:
      return "any";
    case Op::kAll:
      return "all";
    case Op::kNanCount:
      return "nan_count";
    case Op::kInfCount:
      return "inf_count";
    case Op::kArgMin:
      return "argmin";
    case Op::kArgMax:
      return "argmax";
  }
  __builtin_unreachable();
}

namespace {

template <typename T>
DType SumDType(DType dtype) {
  if (kIsFloat<T>) return dtype;
  return kIsUnsigned<T> ? DType::kU64 : DType::kI64;
}

}  // namespace

DType ResultDType(Op op, DType dtype) {
  return VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (op) {
      case Op::kSum:
      case Op::kProd:
        return SumDType<T>(dtype);
      case Op::kMean:
      case Op::kVar:
      case Op::kStd:
      case Op::kL1Norm:
      case Op::kL2Norm:
        return kIsFloat<T> ? dtype : DType::kF64;
      case Op::kMin:
      case Op::kMax:
        return dtype;
      case Op::kCountNonzero:
      case Op::kNanCount:
      case Op::kInfCount:
      case Op::kArgMin:
      case Op::kArgMax:
        return DType::kI64;
      case Op::kAny:
      case Op::kAll:
        return DType::kBool;
    }
    __builtin_unreachable();
  });
}

}  // namespace warpfold
