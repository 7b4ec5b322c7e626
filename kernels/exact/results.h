// From exact states to the results: finish.h for kernels/exact/fold.h's fusions.
#ifndef WARPFOLD_KERNELS_EXACT_RESULTS_H_
#define WARPFOLD_KERNELS_EXACT_RESULTS_H_

#include <cstdint>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/product.h"
#include "kernels/exact/sums.h"
#include "kernels/finish.h"
#include "kernels/host_device.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/statistic.h"
#include "kernels/types.h"

namespace warpfold::exact {

namespace internal {

// Of integers, from what a fold of components adds up of them and, where no component does, the
// words of their squares; 0 of what is not added up, which then nobody reads.
template <class Values>
WARPFOLD_HD double FinishInteger(Statistic statistic, const typename Values::State& values,
                                 const std::uint64_t* wide_squares, const ResultTargets& targets) {
  using T = typename Values::Element;
  IntegerSums sums{targets.reduced_count, 0, 0};
  if constexpr (Values::template kHas<Sum<T>>) sums.sum = Values::template Get<Sum<T>>(values);
  if constexpr (Values::template kHas<AbsSum<T>>) {
    sums.absolute_sum = Values::template Get<AbsSum<T>>(values);
  }
  const Variance variance{targets.correction, false};
  if constexpr (kHasWideSquares<T>) {
    const std::uint64_t none[kSquareWords<T>] = {};
    return Finish<kSquareWords<T>>(statistic, sums, wide_squares != nullptr ? wide_squares : none,
                                   variance);
  } else {
    uint128 squares = 0;
    if constexpr (Values::template kHas<SquareSum<T>>) {
      squares = static_cast<uint128>(Values::template Get<SquareSum<T>>(values));
    }
    const std::uint64_t words[] = {static_cast<std::uint64_t>(squares),
                                   static_cast<std::uint64_t>(squares >> 64)};
    return Finish<2>(statistic, sums, words, variance);
  }
}

// False if the result is a product that may round either way.
template <class X>
WARPFOLD_HD bool WriteRounded(Statistic statistic, const ResultTargets& targets, int i,
                              std::int64_t index, const typename X::State& state) {
  using R = FloatOf<typename X::Storage>;
  R* const to = static_cast<R*>(targets.arrays[i]) + index;
  if constexpr (!kIsFloat<typename X::Element>) {
    const std::uint64_t* wide_squares = nullptr;
    if constexpr (X::kSums == Sums::kStatistics) wide_squares = state.sums.squares;
    *to = FinishInteger<typename X::Values>(statistic, X::ValuesOf(state), wide_squares, targets);
  } else if (statistic == Statistic::kProduct) {
    if constexpr (X::kHasProduct) return FinishProduct(state.product, to);
  } else if constexpr (X::kSums != Sums::kNone) {
    const std::int64_t count = X::Values::CountOf(X::ValuesOf(state), targets.reduced_count);
    *to = Finish<R>(statistic, state.sums, count, {targets.correction, X::kOmitsNan});
  }
  return true;
}

}  // namespace internal

// What warpfold::WriteResults does, of a fusion's states. An op_overflow is of floats, too: a
// product that may round either way.
template <class X, int kCount>
WARPFOLD_HD int WriteResults(const ResultTargets& targets, std::int64_t index,
                             const typename X::State* states, OpOverflow* op_overflow) {
  typename X::Values::State copies[kCount];
  const typename X::Values::State* values = copies;
  if constexpr (X::kHasValuesAlone) {
    values = states;
  } else {
    for (int k = 0; k < kCount; ++k) copies[k] = X::ValuesOf(states[k]);
  }
  int first = kCount;
  WARPFOLD_NO_UNROLL
  for (int i = 0; i < targets.count; ++i) {
    OpOverflow of_op;
    int at = kCount;
    const Statistic statistic = StatisticOf<typename X::Storage>(targets.ops[i]);
    if (statistic != Statistic::kNone) {
      for (int k = kCount - 1; k >= 0; --k) {
        if (!internal::WriteRounded<X>(statistic, targets, i, index + k, states[k])) at = k;
      }
      of_op.op = targets.ops[i];
    } else {
      at = WriteResult<typename X::Values, kCount>(targets, i, index, values, &of_op);
    }
    if (at == kCount || at > first) continue;
    first = at;
    *op_overflow = of_op;
  }
  return first;
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_RESULTS_H_
