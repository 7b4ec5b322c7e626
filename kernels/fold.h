// Components fused into one pass, and what each fused op set fuses.
#ifndef WARPFOLD_KERNELS_FOLD_H_
#define WARPFOLD_KERNELS_FOLD_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/components.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/host_device.h"
#include "kernels/ops/fusions.h"
#include "kernels/tiles.h"
#include "kernels/types.h"

namespace warpfold {

// One component's value inside a fused Acc or State.
template <class Component, typename Value>
struct Slot {
  Value value;
};

// The values of several components. What is folded of the same components has the same ones,
// however its elements are stored.
template <class... Components>
struct FoldAcc : Slot<Components, typename Components::Acc>... {};
// In place of a slot, where a component has no value.
template <class Component>
struct NoSlot {};
template <class Component>
inline constexpr bool kIsTransient = requires {
  Component::kIsTransient;
};
template <class... Components>
struct FoldState : std::conditional_t<kIsTransient<Components>, NoSlot<Components>,
                                      Slot<Components, typename Components::State>>... {};

// Several components that read the elements once. Acc and State hold one slot a component, but for
// those that are transient, which a State has not. All functions work slot by slot; a component's
// PromoteIn reads the others' slots.
//
// Stored: the elements as they lie in memory, and by which results are chosen; components are of
// what they are lifted to. They are named without their NaN policy; Applied is the component that
// does the work.
template <typename Stored, NanPolicy kNanPolicy, class... Components>
struct Fold {
  using Storage = Stored;
  using Element = Lifted<Stored>;
  static constexpr bool kOmitsNan = kNanPolicy == NanPolicy::kOmit;
  template <class C>
  using Applied = std::conditional_t<kOmitsNan, OmitNan<C>, C>;
  static constexpr int kComponents = sizeof...(Components);
  using Acc = FoldAcc<Components...>;
  using State = FoldState<Components...>;

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

  // Adds an element to all components. `number` is the element's, as for indexed ones.
  WARPFOLD_HD static void Add(Acc& acc, Element x, int number) {
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      AddElement<Applied<C>>(Get<C>(acc), x, number);
    });
  }
  // Counts that need no look at the elements of an Acc or State whose extrema are finite: they are
  // 0.
  static constexpr bool kSkipsCounts = kIsFloat<Element> && !kOmitsNan && kHas<Min<Element>> &&
                                       kHas<Max<Element>> &&
                                       (kHas<NanCount<Element>> || kHas<InfCount<Element>>);
  template <class C>
  static constexpr bool kIsSkippedCount = kSkipsCounts && (std::is_same_v<C, NanCount<Element>> ||
                                                           std::is_same_v<C, InfCount<Element>>);
  template <typename Value>
  WARPFOLD_HD static bool AllFinite(const Value& value) {
    return Get<Min<Element>>(value) > ToKey(Infinity<Element>(true)) &&
           Get<Max<Element>>(value) < ToKey(Infinity<Element>(false));
  }

  // Of `count` elements in an Acc or State those that take part.
  template <typename Value>
  WARPFOLD_HD static std::int64_t CountOf(const Value& value, std::int64_t count) {
    if constexpr (kOmitsNan) count -= Get<NanCount<Element>>(value);
    return count;
  }

  // For Acc and for State.
  template <typename Value>
  WARPFOLD_HD static Value Combine(const Value& a, const Value& b) {
    Value result;
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<Value, State> || !kIsTransient<C>) {
        Get<C>(result) = C::Combine(Get<C>(a), Get<C>(b));
      }
    });
    return result;
  }
  // `count`: the Acc has no more elements.
  WARPFOLD_HD static State Promote(const Acc& acc, const ElementIndexing& indexing,
                                   int count = kTileElements<Stored>) {
    State state;
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (requires { C::template PromoteIn<Fold>(acc, count); }) {
        Get<C>(state) = C::template PromoteIn<Fold>(acc, count);
      } else if constexpr (!kIsTransient<C>) {
        Get<C>(state) = PromoteAt<C>(Get<C>(acc), indexing);
      }
    });
    return state;
  }
  WARPFOLD_HD static State IdentityState() { return Promote(Identity(), ElementIndexing{}); }

  // Calls `visitor(TypeTag<Component>{})` for each component.
  template <typename Visitor>
  WARPFOLD_HD static void ForEach(Visitor&& visitor) {
    (visitor(TypeTag<Components>{}), ...);
  }
};

template <typename Stored, class... Components>
using PlainFold = Fold<Stored, NanPolicy::kPropagate, Components...>;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FOLD_H_
