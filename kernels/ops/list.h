// The list of ops. An op is a struct (kernels/ops/op.h says what one has) in the header of its
// family; here it has a line in each of the two lists, at the same place.
#ifndef WARPFOLD_KERNELS_OPS_LIST_H_
#define WARPFOLD_KERNELS_OPS_LIST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "kernels/dtypes/catalogue.h"
#include "kernels/host_device.h"

namespace warpfold {

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
  kMaxAbs,
  kPtp,
};

template <class... Structs>
struct OpList {
  static constexpr int kSize = sizeof...(Structs);

  // Calls `visitor(TypeTag<O>{})` with the struct of `op`. By bisection, not by function pointers,
  // which a GPU would have to keep what it captures in memory for.
  template <class Visitor, int kBegin = 0, int kEnd = kSize>
  WARPFOLD_HD static void ForOne(Op op, const Visitor& visitor) {
    if constexpr (kEnd - kBegin == 1) {
      visitor(TypeTag<std::tuple_element_t<kBegin, std::tuple<Structs...>>>{});
    } else {
      constexpr int kMiddle = (kBegin + kEnd) / 2;
      if (static_cast<int>(op) < kMiddle) {
        ForOne<Visitor, kBegin, kMiddle>(op, visitor);
      } else {
        ForOne<Visitor, kMiddle, kEnd>(op, visitor);
      }
    }
  }

  // Calls `visitor(TypeTag<O>{})` with each of them, in the order of Op.
  template <class Visitor>
  static constexpr void ForEach(const Visitor& visitor) {
    (visitor(TypeTag<Structs>{}), ...);
  }
};

using Ops =
    OpList<struct SumOp, struct MinOp, struct MaxOp, struct MeanOp, struct ProdOp, struct VarOp,
           struct StdOp, struct L1NormOp, struct L2NormOp, struct CountNonzeroOp, struct AnyOp,
           struct AllOp, struct NanCountOp, struct InfCountOp, struct ArgMinOp, struct ArgMaxOp,
           struct MaxAbsOp, struct PtpOp>;

inline constexpr int kOpCount = Ops::kSize;
// Ops that one request may have, of however many there are.
inline constexpr int kRequestOpsMax = 16;

namespace internal {
template <std::size_t... kIndices>
constexpr auto AllOps(std::index_sequence<kIndices...>) {
  return std::array<Op, sizeof...(kIndices)>{static_cast<Op>(kIndices)...};
}
}  // namespace internal
inline constexpr std::array kAllOps = internal::AllOps(std::make_index_sequence<kOpCount>());

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_LIST_H_
