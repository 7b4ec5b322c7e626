// The vocabulary of the numeric library: element types and ops. Both are closed sets; what is in
// these enums works on every backend. Switches over them have no `default:`, so that a new member
// fails to compile wherever it is not yet handled.
#ifndef WARPFOLD_KERNELS_TYPES_H_
#define WARPFOLD_KERNELS_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace warpfold {

enum class DType : std::uint8_t { kI32, kI64, kF32, kF64 };
inline constexpr DType kAllDTypes[] = {DType::kI32, DType::kI64, DType::kF32, DType::kF64};

enum class Op : std::uint8_t { kSum, kMin, kMax, kMean };
inline constexpr Op kAllOps[] = {Op::kSum, Op::kMin, Op::kMax, Op::kMean};
inline constexpr int kOpCount = 4;

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `visitor(TypeTag<T>{})` with the C++ type of `dtype`: the library's only dtype switch.
template <typename Visitor>
constexpr decltype(auto) VisitDType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kI32:
      return std::forward<Visitor>(visitor)(TypeTag<std::int32_t>{});
    case DType::kI64:
      return std::forward<Visitor>(visitor)(TypeTag<std::int64_t>{});
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

// "f32", "sum": as in flags, metrics and the proto, in lower case.
const char* Name(DType dtype);
const char* Name(Op op);

// The dtype of `op`'s result over elements of `dtype`; the rule is in
// proto/warpfold/v1/reduction.proto.
DType ResultDType(Op op, DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_TYPES_H_
