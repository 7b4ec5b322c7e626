#include "kernels/types.h"

namespace warpfold {

const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
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
  }
  __builtin_unreachable();
}

DType ResultDType(Op op, DType dtype) {
  const bool is_float = dtype == DType::kF32 || dtype == DType::kF64;
  switch (op) {
    case Op::kSum:
      return is_float ? dtype : DType::kI64;
    case Op::kMean:
      return is_float ? dtype : DType::kF64;
    case Op::kMin:
    case Op::kMax:
      return dtype;
  }
  __builtin_unreachable();
}

}  // namespace warpfold
