// The catalogue of ops: what is known of each, derived from its struct.
//
// Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_OPS_CATALOGUE_H_
#define WARPFOLD_KERNELS_OPS_CATALOGUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/dtypes/catalogue.h"
#include "kernels/host_device.h"
#include "kernels/ops/counts.h"
#include "kernels/ops/extrema.h"
#include "kernels/ops/list.h"
#include "kernels/ops/op.h"
#include "kernels/ops/products.h"
#include "kernels/ops/statistic.h"
#include "kernels/ops/sums.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

namespace internal {

struct AnyValues;

template <typename R>
struct Unchecked {
  using type = R;
};
template <typename R>
struct Unchecked<Checked<R>> {
  using type = R;
};

// Of op struct O over elements T: what Finish returns, or what is rounded to.
template <class O, typename T>
constexpr auto FinishedBy() {
  if constexpr (O::template kStatistic<T> != Statistic::kNone) {
    return TypeTag<FloatOf<T>>{};
  } else {
    return TypeTag<decltype(O::template Finish<T>(std::declval<const AnyValues&>()))>{};
  }
}
template <class O, typename T>
using Finished = typename decltype(FinishedBy<O, T>())::type;

// The C++ type of its result.
template <class O, typename T>
using ResultOf = typename Unchecked<Finished<O, T>>::type;

struct OpRow {
  OpInfo info;
  std::array<DType, kDTypeCount> results;
  std::array<bool, kDTypeCount> may_not_fit;
  std::array<Statistic, kDTypeCount> statistics;
};

template <class O, std::size_t... kIndices>
constexpr OpRow MakeOpRow(std::index_sequence<kIndices...>) {
  return {O::kInfo,
          {kDTypeOf<ResultOf<O, std::tuple_element_t<kIndices, ElementTypes>>>...},
          {!std::is_same_v<ResultOf<O, std::tuple_element_t<kIndices, ElementTypes>>,
                           Finished<O, std::tuple_element_t<kIndices, ElementTypes>>>...},
          {O::template kStatistic<std::tuple_element_t<kIndices, ElementTypes>>...}};
}

constexpr auto OpRows() {
  std::array<OpRow, kOpCount> rows{};
  std::size_t op = 0;
  Ops::ForEach([&](auto tag) {
    rows[op++] = MakeOpRow<typename decltype(tag)::type>(std::make_index_sequence<kDTypeCount>());
  });
  return rows;
}
inline constexpr std::array kOpRows = OpRows();

// Over elements T the statistics of all ops, three bits each.
template <typename T>
constexpr std::uint64_t PackedStatistics() {
  static_assert(kOpCount <= 21, "more need another word");
  static_assert(static_cast<int>(Statistic::kProduct) < 8);
  std::uint64_t packed = 0;
  int shift = 0;
  Ops::ForEach([&](auto tag) {
    using O = typename decltype(tag)::type;
    packed |= static_cast<std::uint64_t>(O::template kStatistic<T>) << shift;
    shift += 3;
  });
  return packed;
}
template <typename T>
inline constexpr std::uint64_t kPackedStatistics = PackedStatistics<T>();

constexpr const OpRow& OpRowOf(Op op) { return kOpRows[static_cast<std::size_t>(op)]; }

}  // namespace internal

constexpr const OpInfo& InfoOf(Op op) { return internal::OpRowOf(op).info; }

// "sum": as in flags and metrics.
constexpr const char* Name(Op op) { return InfoOf(op).name; }

// What the results of `ops` are computed from.
constexpr KindSet NeedsOf(std::span<const Op> ops) {
  KindSet needs;
  for (const Op op : ops) needs.Add(InfoOf(op).needs);
  return needs;
}

// How many dimensions the results of op struct O have of their own, behind those that are kept.
template <class O>
constexpr int TrailingDimsOf() {
  if constexpr (requires { O::kTrailingDims; }) {
    return O::kTrailingDims;
  } else {
    return 0;
  }
}
constexpr int TrailingDims(Op op) {
  int dims = 0;
  int at = 0;
  Ops::ForEach([&](auto tag) {
    if (at++ == static_cast<int>(op)) dims = TrailingDimsOf<typename decltype(tag)::type>();
  });
  return dims;
}

// The dtype of `op`'s result over elements of `dtype`.
constexpr DType ResultDType(Op op, DType dtype) {
  return internal::OpRowOf(op).results[static_cast<std::size_t>(dtype)];
}

// What it is rounded from exact sums or products to; kNone where nothing is rounded.
constexpr Statistic StatisticOf(Op op, DType dtype) {
  return internal::OpRowOf(op).statistics[static_cast<std::size_t>(dtype)];
}
// The same, in two instructions: a comparison with each op made the nine statistics of 1,024 f32 17
// % slower (H100, 2026-11-28).
template <typename T>
WARPFOLD_HD Statistic StatisticOf(Op op) {
  return static_cast<Statistic>(internal::kPackedStatistics<T> >> (3 * static_cast<int>(op)) & 7);
}

// Whether a result may be refused: an integer that does not fit, or a product of floats that may
// round either way.
constexpr bool MayBeRefused(Op op, DType dtype) {
  return internal::OpRowOf(op).may_not_fit[static_cast<std::size_t>(dtype)] ||
         StatisticOf(op, dtype) == Statistic::kProduct;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_CATALOGUE_H_
