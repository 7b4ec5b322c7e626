// What an exact reduction computes of its elements in one read: sums without an order, and what
// never had one.
#ifndef WARPFOLD_KERNELS_EXACT_FOLD_H_
#define WARPFOLD_KERNELS_EXACT_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/product.h"
#include "kernels/exact/sums.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/ops/fusions.h"
#include "kernels/types.h"

namespace warpfold {

namespace exact {

struct NoProduct {};

// Sums, a product of floats, and values: a Fold of components whose bits depend on no order.
template <typename Stored, NanPolicy kNanPolicy, Sums kSumsOfIt, bool kHasProductOfIt,
          class... Components>
struct Fusion {
  using Values = Fold<Stored, kNanPolicy, Components...>;
  using Storage = typename Values::Storage;
  using Element = typename Values::Element;
  static constexpr bool kOmitsNan = Values::kOmitsNan;
  static constexpr Sums kSums = kSumsOfIt;
  static constexpr bool kHasProduct = kHasProductOfIt;
  static constexpr bool kHasValuesAlone = kSums == Sums::kNone && !kHasProduct;

  struct Parts {
    SumsState<Element, kSums> sums;
    std::conditional_t<kHasProduct, ProductState, NoProduct> product;
    typename Values::State values;
  };
  using State = std::conditional_t<kHasValuesAlone, typename Values::State, Parts>;

  template <typename S>  // State, const or not
  WARPFOLD_HD static auto& ValuesOf(S& state) {
    if constexpr (kHasValuesAlone) {
      return state;
    } else {
      return state.values;
    }
  }

  WARPFOLD_HD static State Identity() {
    State state{};
    ValuesOf(state) = Values::IdentityState();
    return state;
  }

  // Adds a normalised state to another, which has to be normalised after 2^30 of them.
  WARPFOLD_HD static void Join(State& state, const State& other) {
    ValuesOf(state) = Values::Combine(ValuesOf(state), ValuesOf(other));
    if constexpr (!kHasValuesAlone) exact::Join(state.sums, other.sums);
    if constexpr (kHasProduct) state.product.Add(other.product);
  }
  WARPFOLD_HD static void Normalize(State& state) {
    if constexpr (!kHasValuesAlone) exact::Normalize(state.sums);
  }
};

namespace internal {

// Of floats all sums are this file's; of integers components add them up, but for wide squares.
template <typename Stored, bool kIsOfFloats = kIsFloat<Stored>>
struct Fusions {
  using T = Lifted<Stored>;
  template <class... More>
  using WithSum = Fusion<Stored, NanPolicy::kPropagate, Sums::kSum, false, More...>;
  template <NanPolicy kNanPolicy, bool kHasProduct, class... More>
  using WithStatistics = Fusion<Stored, kNanPolicy, Sums::kStatistics, kHasProduct, Min<T>, Max<T>,
                                NanCount<T>, InfCount<T>, More...>;
  template <NanPolicy kNanPolicy>
  using Full = WithStatistics<kNanPolicy, true, NonzeroCount<T>, ArgMin<T>, ArgMax<T>>;
};

template <typename T>
struct Fusions<T, false> {
  template <class... More>
  using WithSum = Fusion<T, NanPolicy::kPropagate, Sums::kNone, false, Sum<T>, More...>;
  template <NanPolicy kNanPolicy, bool kHasProduct, class... More>
  using WithStatistics =
      std::conditional_t<kHasWideSquares<T>,
                         Fusion<T, kNanPolicy, Sums::kStatistics, kHasProduct, Sum<T>, Min<T>,
                                Max<T>, NanCount<T>, InfCount<T>, AbsSum<T>, More...>,
                         Fusion<T, kNanPolicy, Sums::kNone, kHasProduct, Sum<T>, Min<T>, Max<T>,
                                NanCount<T>, InfCount<T>, AbsSum<T>, SquareSum<T>, More...>>;
  template <NanPolicy kNanPolicy>
  using Full = WithStatistics<kNanPolicy, false, NonzeroCount<T>, Product<T>, ArgMin<T>, ArgMax<T>>;
};

template <typename Stored, class... Components>
using ValuesAlone = Fusion<Stored, NanPolicy::kPropagate, Sums::kNone, false, Components...>;

}  // namespace internal

// The Fold of all components that fusions of these have.
template <typename T, bool kOmitsNan>
using ValuesOfAllOps =
    typename internal::Fusions<T>::template Full<kOmitsNan ? NanPolicy::kOmit
                                                           : NanPolicy::kPropagate>::Values;

// Calls `visitor(TypeTag<Fusion<Stored, ...>>{})` with the fused op set's fusion over them.
// REQUIRES: kOmitNan only for floats.
template <typename Stored, typename Visitor>
constexpr decltype(auto) VisitFusion(FusedOpSet fused_op_set, Visitor&& visitor) {
  using T = Lifted<Stored>;
  using Of = internal::Fusions<Stored>;
  constexpr auto kPropagate = NanPolicy::kPropagate;
  switch (fused_op_set) {
    case FusedOpSet::kSum:
      return std::forward<Visitor>(visitor)(TypeTag<typename Of::template WithSum<>>{});
    case FusedOpSet::kMin:
      return std::forward<Visitor>(visitor)(TypeTag<internal::ValuesAlone<Stored, Min<T>>>{});
    case FusedOpSet::kMax:
      return std::forward<Visitor>(visitor)(TypeTag<internal::ValuesAlone<Stored, Max<T>>>{});
    case FusedOpSet::kNonzero:
      return std::forward<Visitor>(visitor)(
          TypeTag<internal::ValuesAlone<Stored, NonzeroCount<T>>>{});
    case FusedOpSet::kRange:
      return std::forward<Visitor>(visitor)(
          TypeTag<typename Of::template WithSum<Min<T>, Max<T>>>{});
    case FusedOpSet::kStatistics:
      return std::forward<Visitor>(visitor)(
          TypeTag<typename Of::template WithStatistics<kPropagate, false>>{});
    case FusedOpSet::kArg:
      return std::forward<Visitor>(visitor)(
          TypeTag<internal::ValuesAlone<Stored, ArgMin<T>, ArgMax<T>>>{});
    case FusedOpSet::kAll:
      return std::forward<Visitor>(visitor)(TypeTag<typename Of::template Full<kPropagate>>{});
    case FusedOpSet::kOmitNan:
      // Only floats have NaN; others need no fusion of their own.
      return std::forward<Visitor>(visitor)(
          TypeTag<typename Of::template Full<kIsFloat<T> ? NanPolicy::kOmit : kPropagate>>{});
  }
  __builtin_unreachable();
}

}  // namespace exact
}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_EXACT_FOLD_H_
