// The folds of a GPU whose results are exact: of floats their sums are bounded (bounded.h), so that
// an output may be undecided, of integers they are whole.
#ifndef WARPFOLD_KERNELS_EXACT_FOLDS_H_
#define WARPFOLD_KERNELS_EXACT_FOLDS_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/bounded.h"
#include "kernels/exact/bounded_finish.h"
#include "kernels/exact/components.h"
#include "kernels/exact/results.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/fusions.h"
#include "kernels/ops/statistic.h"
#include "kernels/types.h"

namespace warpfold::exact {

// A fold whose rounded results are the real ones rounded once. Integers' sums are components that
// are served, too, and finished otherwise.
template <class F>
struct Exactly : F {};

template <class F>
inline constexpr bool kIsExact = false;
template <class F>
inline constexpr bool kIsExact<Exactly<F>> = true;

// PROD of floats, alone.
template <typename Stored, NanPolicy kNanPolicy>
using ProductFold = Exactly<Fold<Stored, kNanPolicy, ExactProduct<Lifted<Stored>>>>;

namespace internal {

template <typename Stored, bool kIsOfFloats = kIsFloat<Stored>>
struct Folds {
  using T = Lifted<Stored>;
  using Range = PlainFold<Stored, BoundedSum<T>, Min<T>, Max<T>, Transient<SmallestSize<T>>>;
  // Of floats of 8 bits the extrema say of a sum whether it is finite, too, and cost so little
  // beside the sum that one fold serves all three.
  template <class Alone>
  using UnlessLifted = std::conditional_t<kIsLifted<Stored>, Exactly<Range>, Alone>;
  using SumAlone = UnlessLifted<Exactly<BoundedSumAlone<Stored>>>;
  using MinAlone = UnlessLifted<PlainFold<Stored, Min<T>>>;
  using MaxAlone = UnlessLifted<PlainFold<Stored, Max<T>>>;
  using Statistics = BoundedStatistics<Stored, NanPolicy::kPropagate>;
  template <NanPolicy kNanPolicy>
  using Full = BoundedFull<Stored, kNanPolicy>;
};
template <typename T>
struct Folds<T, false> {
  using SumAlone = Exactly<PlainFold<T, Sum<T>>>;
  using MinAlone = PlainFold<T, Min<T>>;
  using MaxAlone = PlainFold<T, Max<T>>;
  using Range = PlainFold<T, Sum<T>, Min<T>, Max<T>>;
  using Squares = std::conditional_t<kHasWideSquares<T>, WideSquares<T>, SquareSum<T>>;
  template <class... More>
  using With =
      PlainFold<T, Sum<T>, Min<T>, Max<T>, NanCount<T>, InfCount<T>, AbsSum<T>, Squares, More...>;
  using Statistics = With<>;
  template <NanPolicy>
  using Full = With<NonzeroCount<T>, Product<T>, ArgMin<T>, ArgMax<T>>;
};

}  // namespace internal

// Calls `visitor(TypeTag<F>{})` with the fused op set's fold over elements stored so: one that
// kIsExact, or one that sums nothing. PROD of floats is no part of it. REQUIRES: kOmitNan only for
// floats.
template <typename Stored, typename Visitor>
constexpr decltype(auto) VisitFold(FusedOpSet fused_op_set, Visitor&& visitor) {
  using T = Lifted<Stored>;
  using Of = internal::Folds<Stored>;
  constexpr auto kOmit = kIsFloat<T> ? NanPolicy::kOmit : NanPolicy::kPropagate;
  switch (fused_op_set) {
    case FusedOpSet::kSum:
      return std::forward<Visitor>(visitor)(TypeTag<typename Of::SumAlone>{});
    case FusedOpSet::kMin:
      return std::forward<Visitor>(visitor)(TypeTag<typename Of::MinAlone>{});
    case FusedOpSet::kMax:
      return std::forward<Visitor>(visitor)(TypeTag<typename Of::MaxAlone>{});
    case FusedOpSet::kNonzero:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<Stored, NonzeroCount<T>>>{});
    case FusedOpSet::kRange:
      return std::forward<Visitor>(visitor)(TypeTag<Exactly<typename Of::Range>>{});
    case FusedOpSet::kStatistics:
      return std::forward<Visitor>(visitor)(TypeTag<Exactly<typename Of::Statistics>>{});
    case FusedOpSet::kArg:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<Stored, ArgMin<T>, ArgMax<T>>>{});
    case FusedOpSet::kAll:
      return std::forward<Visitor>(visitor)(
          TypeTag<Exactly<typename Of::template Full<NanPolicy::kPropagate>>>{});
    case FusedOpSet::kOmitNan:
      return std::forward<Visitor>(visitor)(TypeTag<Exactly<typename Of::template Full<kOmit>>>{});
  }
  __builtin_unreachable();
}

namespace internal {

// Out of line, as every kernel of a fold ends in it.
template <class F>
WARPFOLD_HD_NOINLINE double FinishIntegers(Statistic statistic, const typename F::State& state,
                                           const ResultTargets& targets) {
  using T = typename F::Element;
  const std::uint64_t* wide_squares = nullptr;
  if constexpr (F::template kHas<WideSquares<T>>) {
    wide_squares = F::template Get<WideSquares<T>>(state).words;
  }
  return FinishInteger<F>(statistic, state, wide_squares, targets);
}

enum class Written : std::uint8_t { kYes, kUndecided, kMayRoundEitherWay };

struct NotBounded {};
// Of float64's statistics, and of several outputs, more would be kept than there are registers for.
template <class F, int kCount>
using BoundedOutputOf = std::conditional_t<
    kIsBounded<F>,
    BoundedOutput<F, kCount == 1 && !(kSumsAreDoubleDouble<typename F::Element> &&
                                      F::template kHas<SquareSumPair<typename F::Element>>)>,
    NotBounded>;

// A rounded op of one output, if F can tell it.
template <class F, class Bounded>
WARPFOLD_HD Written FinishRounded(Statistic statistic, const typename F::State& state,
                                  const Bounded& output, const ResultTargets& targets,
                                  FloatOf<typename F::Storage>* to) {
  using T = typename F::Element;
  if constexpr (!kIsFloat<T>) {
    if constexpr (F::kComponents == 1) {
      const typename F::State copy = state;  // so that SUM needs it in no memory
      *to = FinishIntegers<F>(statistic, copy, targets);
    } else {
      *to = FinishIntegers<F>(statistic, state, targets);
    }
    return Written::kYes;
  } else if constexpr (kIsBounded<F>) {
    return output.Finish(statistic, to) ? Written::kYes : Written::kUndecided;
  } else {
    const ProductState product =
        ExactProduct<T>::ProductOf(F::template Get<ExactProduct<T>>(state));
    return FinishProduct(product, to) ? Written::kYes : Written::kMayRoundEitherWay;
  }
}

// Whether F tells it.
template <class F>
WARPFOLD_HD constexpr bool Rounds(Statistic statistic) {
  if constexpr (F::template kHas<ExactProduct<typename F::Element>>) {
    return statistic == Statistic::kProduct;
  } else {
    return IsOfSums(statistic);
  }
}

}  // namespace internal

// Which of the targets' ops a thread writes: every stride-th.
struct OpShare {
  int first = 0;
  int stride = 1;
};

// What bounded sums do not tell, of neighbouring outputs.
struct UndecidedBits {
  std::uint32_t outputs = 0;  // by bits
  bool beyond_sums = false;   // results of other ops than SUM and MEAN
};

// warpfold::WriteResults of a fold that kIsExact. `divisors`: the targets'. An op_overflow is of
// floats a product that may round either way.
template <class F, int kCount>
WARPFOLD_HD int WriteFoldResults(const ResultTargets& targets, const Divisors& divisors,
                                 std::int64_t index, const typename F::State* states,
                                 OpOverflow* op_overflow, UndecidedBits* undecided_bits,
                                 const OpShare& share = {}) {
  using Result = FloatOf<typename F::Storage>;
  static_assert(kCount <= 32);
  internal::BoundedOutputOf<F, kCount> outputs[kCount];
  if constexpr (kIsBounded<F>) {
    WARPFOLD_UNROLL
    for (int k = 0; k < kCount; ++k) outputs[k] = {&states[k], &divisors};
  }
  int first = kCount;
  WARPFOLD_NO_UNROLL
  for (int i = share.first; i < targets.count; i += share.stride) {
    const Statistic statistic = StatisticOf<typename F::Storage>(targets.ops[i]);
    OpOverflow of_op;
    int at = kCount;
    if (internal::Rounds<F>(statistic)) {
      of_op.op = targets.ops[i];
      warpfold::internal::Put<Result, kCount>(targets.arrays[i], index, [&](int k) {
        Result result{};
        const internal::Written written =
            internal::FinishRounded<F>(statistic, states[k], outputs[k], targets, &result);
        if (written == internal::Written::kUndecided) {
          undecided_bits->outputs |= 1u << k;
          undecided_bits->beyond_sums |= !IsOfSumAlone(statistic);
        }
        if (written == internal::Written::kMayRoundEitherWay && at == kCount) at = k;
        return result;
      });
    } else if constexpr (!F::template kHas<ExactProduct<typename F::Element>>) {
      if (statistic == Statistic::kNone) {
        at = WriteResult<F, kCount>(targets, i, index, states, &of_op);
      }
    }
    if (at == kCount || at > first) continue;
    first = at;
    *op_overflow = of_op;
  }
  return first;
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_FOLDS_H_
