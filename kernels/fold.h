// Components fused into one pass, and what each bundle fuses.
#ifndef WARPFOLD_KERNELS_FOLD_H_
#define WARPFOLD_KERNELS_FOLD_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/bundle.h"
#include "kernels/components.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold {

// One component's value inside a fused Acc or State.
template <class Component, typename Value>
struct Slot {
  Value value;
};

// Several components that read the elements once. Acc and State hold one slot a component; all
// functions work slot by slot, so a component's bits do not depend on what it is fused with.
//
// Components are named without their NaN policy; Applied is the component that does the work.
template <typename T, NanPolicy kNanPolicy, class... Components>
struct Fold {
  using Element = T;
  static constexpr bool kOmitsNan = kNanPolicy == NanPolicy::kOmit;
  template <class C>
  using Applied = std::conditional_t<kOmitsNan, OmitNan<C>, C>;
  static constexpr int kComponents = sizeof...(Components);
  struct Acc : Slot<Components, typename Components::Acc>... {};
  struct State : Slot<Components, typename Components::State>... {};

  template <class Component>
  static constexpr bool kHas = (std::is_same_v<Component, Components> || ...);

  template <class C>
  WARPFOLD_HD static typename C::State& Get(State& state) {
    return static_cast<Slot<C, typename C::State>&>(state).value;
  }
  template <class C>
  WARPFOLD_HD static const typename C::State& Get(const State& state) {
    return static_cast<const Slot<C, typename C::State>&>(state).value;
  }
  template <class C>
  WARPFOLD_HD static typename C::Acc& Get(Acc& acc) {
    return static_cast<Slot<C, typename C::Acc>&>(acc).value;
  }
  template <class C>
  WARPFOLD_HD static const typename C::Acc& Get(const Acc& acc) {
    return static_cast<const Slot<C, typename C::Acc>&>(acc).value;
  }

  WARPFOLD_HD static Acc Identity() {
    Acc acc;
    ((Get<Components>(acc) = Components::Identity()), ...);
    return acc;
  }

  // Adds an element to all components that read once. `number` is the element's, as for indexed
  // components.
  WARPFOLD_HD static void Add(Acc& acc, T x, int number) {
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (!kReadsTwice<C>) AddElement<Applied<C>>(Get<C>(acc), x, number);
    });
  }
  // Counts that need no look at the elements of an Acc or State whose extrema are finite: they are
  // 0.
  static constexpr bool kSparesCounts = kIsFloat<T> && !kOmitsNan && kHas<Min<T>> && kHas<Max<T>> &&
                                        (kHas<NanCount<T>> || kHas<InfCount<T>>);
  template <class C>
  static constexpr bool kIsSparedCount = kSparesCounts && (std::is_same_v<C, NanCount<T>> ||
                                                           std::is_same_v<C, InfCount<T>>);
  template <typename Value>
  WARPFOLD_HD static bool AllFinite(const Value& value) {
    return Get<Min<T>>(value) > ToKey(Infinity<T>(true)) &&
           Get<Max<T>>(value) < ToKey(Infinity<T>(false));
  }

  // Of `count` elements in an Acc or State those that take part.
  template <typename Value>
  WARPFOLD_HD static std::int64_t CountOf(const Value& value, std::int64_t count) {
    if constexpr (kOmitsNan) count -= Get<NanCount<T>>(value);
    return count;
  }

  // The second sweep, when there are moments: the mean of `acc`, of `count` elements of which some
  // may be NaN, and then, by Moments::AddDeviation for each element, the squares.
  static constexpr bool kHasMoments = kHas<Moments<T>>;
  WARPFOLD_HD static double Mean(const Acc& acc, std::int64_t count) {
    return ToDouble(Get<Sum<T>>(acc)) / static_cast<double>(CountOf(acc, count));
  }
  WARPFOLD_HD static void AddDeviation(double& squares, T x, double mean) {
    if (kOmitsNan && IsNan(x)) return;
    Moments<T>::AddDeviation(squares, x, mean);
  }
  WARPFOLD_HD static void SetMoments(Acc& acc, std::int64_t count, double mean, double squares) {
    const std::int64_t present = CountOf(acc, count);
    Get<Moments<T>>(acc) =
        present == 0 ? Moments<T>::Identity() : typename Moments<T>::Acc{mean, squares, present};
  }

  // For Acc and for State.
  template <typename Value>
  WARPFOLD_HD static Value Combine(const Value& a, const Value& b) {
    Value result;
    ((Get<Components>(result) = Components::Combine(Get<Components>(a), Get<Components>(b))), ...);
    return result;
  }
  WARPFOLD_HD static State Promote(const Acc& acc, const Place& place) {
    State state;
    ((Get<Components>(state) = PromoteAt<Components>(Get<Components>(acc), place)), ...);
    return state;
  }
  WARPFOLD_HD static State IdentityState() { return Promote(Identity(), Place{}); }

  // Calls `visitor(TypeTag<Component>{})` for each component.
  template <typename Visitor>
  WARPFOLD_HD static void ForEach(Visitor&& visitor) {
    (visitor(TypeTag<Components>{}), ...);
  }
};

template <typename T, class... Components>
using PlainFold = Fold<T, NanPolicy::kPropagate, Components...>;
// Without Moments where sums and squares are exact: they say it all.
template <typename T, NanPolicy kNanPolicy, class... More>
using StatisticsFold =
    std::conditional_t<kSquaresExactly<T>,
                       Fold<T, kNanPolicy, Sum<T>, Min<T>, Max<T>, NanCount<T>, InfCount<T>,
                            AbsSum<T>, SquareSum<T>, More...>,
                       Fold<T, kNanPolicy, Sum<T>, Min<T>, Max<T>, NanCount<T>, InfCount<T>,
                            AbsSum<T>, SquareSum<T>, Moments<T>, More...>>;
template <typename T, NanPolicy kNanPolicy>
using FullFold = StatisticsFold<T, kNanPolicy, NonzeroCount<T>, Product<T>, ArgMin<T>, ArgMax<T>>;

// Calls `visitor(TypeTag<Fold<T, ...>>{})` with the bundle's fold over T. REQUIRES: kOmitNan only
// for floats.
template <typename T, typename Visitor>
constexpr decltype(auto) VisitBundle(Bundle bundle, Visitor&& visitor) {
  switch (bundle) {
    case Bundle::kSum:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, Sum<T>>>{});
    case Bundle::kMin:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, Min<T>>>{});
    case Bundle::kMax:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, Max<T>>>{});
    case Bundle::kNonzero:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, NonzeroCount<T>>>{});
    case Bundle::kRange:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, Sum<T>, Min<T>, Max<T>>>{});
    case Bundle::kStatistics:
      return std::forward<Visitor>(visitor)(TypeTag<StatisticsFold<T, NanPolicy::kPropagate>>{});
    case Bundle::kArg:
      return std::forward<Visitor>(visitor)(TypeTag<PlainFold<T, ArgMin<T>, ArgMax<T>>>{});
    case Bundle::kAll:
      return std::forward<Visitor>(visitor)(TypeTag<FullFold<T, NanPolicy::kPropagate>>{});
    case Bundle::kOmitNan:
      // Only floats have NaN; others need no fold of their own.
      return std::forward<Visitor>(visitor)(
          TypeTag<FullFold<T, kIsFloat<T> ? NanPolicy::kOmit : NanPolicy::kPropagate>>{});
  }
  __builtin_unreachable();
}

// Bytes of one partial state.
inline std::size_t StateBytes(DType dtype, Bundle bundle) {
  return VisitDType(dtype, [&](auto type) {
    return VisitBundle<typename decltype(type)::type>(
        bundle, [](auto fold) { return sizeof(typename decltype(fold)::type::State); });
  });
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FOLD_H_
