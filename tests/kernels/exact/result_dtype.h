// The dtype of an op's result as reduction.proto says it, by hand: what judges the library takes
// nothing from the catalogue that it derives its own from (kernels/ops).
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_RESULT_DTYPE_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_RESULT_DTYPE_H_

#include "kernels/types.h"

namespace warpfold::testing {

inline DType UnsignedOf(DType dtype) {
  if (dtype == DType::kI8) return DType::kU8;
  if (dtype == DType::kI16) return DType::kU16;
  if (dtype == DType::kI32) return DType::kU32;
  if (dtype == DType::kI64) return DType::kU64;
  return dtype;
}

inline DType ExpectedResultDType(Op op, DType dtype) {
  const bool is_byte_float = dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
  const bool is_float =
      dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
  const bool is_unsigned =
      dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
  switch (op) {
    case Op::kSum:
    case Op::kProd:
      if (is_byte_float) return DType::kF32;
      return is_float ? dtype : is_unsigned ? DType::kU64 : DType::kI64;
    case Op::kMean:
    case Op::kVar:
    case Op::kStd:
    case Op::kL1Norm:
    case Op::kL2Norm:
      if (is_byte_float) return DType::kF32;
      return is_float ? dtype : DType::kF64;
    case Op::kMin:
    case Op::kMax:
      return dtype;
    case Op::kMaxAbs:
      return UnsignedOf(dtype);
    case Op::kPtp:
      return is_byte_float ? DType::kF32 : UnsignedOf(dtype);
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
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_RESULT_DTYPE_H_
