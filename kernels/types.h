// The vocabulary of the numeric library: element types and ops. Both are closed sets; what is in
// these enums works on every backend. Switches over them have no `default:`, so that a new member
// fails to compile wherever it is not yet handled.
#ifndef WARPFOLD_KERNELS_TYPES_H_
#define WARPFOLD_KERNELS_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/element.h"

namespace warpfold {

enum class DType : std::uint8_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64
};
inline constexpr DType kAllDTypes[] = {
    DType::kBool, DType::kI8,  DType::kU8,  DType::kI16,  DType::kU16, DType::kI32, DType::kU32,
    DType::kI64,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

enum class Op : std::uint8_t {
  kSum,
  kMin,
  kMax,
  kMean,
  kProd,
  kVar,
  kStd,
  kL1Norm,
  kL2Norm,
  kCountNonzero,
  kAny,
  kAll,
  kNanCount,
  kInfCount,
  kArgMin,
  kArgMax,
};
inline constexpr Op kAllOps[] = {Op::kSum,      Op::kMin,          Op::kMax,    Op::kMean,
                                 Op::kProd,     Op::kVar,          Op::kStd,    Op::kL1Norm,
                                 Op::kL2Norm,   Op::kCountNonzero, Op::kAny,    Op::kAll,
                                 Op::kNanCount, Op::kInfCount,     Op::kArgMin, Op::kArgMax};
inline constexpr int kOpCount = 16;

// What NaN elements do: take part, or count as missing.
enum class NanPolicy : std::uint8_t { kPropagate, kOmit };

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `visitor(TypeTag<T>{})` with the C++ type of `dtype`: the library's only dtype switch.
template <typename Visitor>
constexpr decltype(auto) VisitDType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kBool:
      return std::forward<Visitor>(visitor)(TypeTag<Bool>{});
    case DType::kI8:
      return std::forward<Visitor>(visitor)(TypeTag<std::int8_t>{});
    case DType::kU8:
      return std::forward<Visitor>(visitor)(TypeTag<std::uint8_t>{});
    case DType::kI16:
      return std::forward<Visitor>(visitor)(TypeTag<std::int16_t>{});
    case DType::kU16:
      return std::forward<Visitor>(visitor)(TypeTag<std::uint16_t>{});
    case DType::kI32:
      return std::forward<Visitor>(visitor)(TypeTag<std::int32_t>{});
    case DType::kU32:
      return std::forward<Visitor>(visitor)(TypeTag<std::uint32_t>{});
    case DType::kI64:
      return std::forward<Visitor>(visitor)(TypeTag<std::int64_t>{});
    case DType::kU64:
      return std::forward<Visitor>(visitor)(TypeTag<std::uint64_t>{});
    case DType::kF16:
      return std::forward<Visitor>(visitor)(TypeTag<Half>{});
    case DType::kBF16:
      return std::forward<Visitor>(visitor)(TypeTag<BFloat16>{});
    case DType::kF32:
      return std::forward<Visitor>(visitor)(TypeTag<float>{});
    case DType::kF64:
      return std::forward<Visitor>(visitor)(TypeTag<double>{});
  }
  __builtin_unreachable();
}

// Bytes of one element.
constexpr std::size_t ElementBytes(DType dtype) {
  return VisitDType(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

// f16, bf16, f32 or f64: it has NaN, infinities and a zero of either sign.
constexpr bool IsFloat(DType dtype) {
  return VisitDType(dtype, [](auto tag) { return kIsFloat<typename decltype(tag)::type>; });
}

// "f32", "sum": as in flags, metrics and the proto, in lower case.
const char* Name(DType dtype);
const char* Name(Op op);

// The dtype of `op`'s result over elements of `dtype`; the rule is in
// proto/warpfold/v1/reduction.proto.
DType ResultDType(Op op, DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_TYPES_H_
