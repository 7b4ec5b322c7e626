// Components fused into one pass, and the table of the fusions that exist.
#ifndef WARPFOLD_KERNELS_FOLD_H_
#define WARPFOLD_KERNELS_FOLD_H_

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

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
template <typename T, class... Components>
struct Fold {
  using Element = T;
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
  // To an Acc or a State.
  template <typename Value>
  WARPFOLD_HD static void Add(Value& value, T x) {
    (Components::Add(Get<Components>(value), x), ...);
  }
  // For Acc and for State.
  template <typename Value>
  WARPFOLD_HD static Value Combine(const Value& a, const Value& b) {
    Value result;
    ((Get<Components>(result) = Components::Combine(Get<Components>(a), Get<Components>(b))), ...);
    return result;
  }
  WARPFOLD_HD static State Promote(const Acc& acc) {
    State state;
    ((Get<Components>(state) = Components::Promote(Get<Components>(acc))), ...);
    return state;
  }
  WARPFOLD_HD static State IdentityState() { return Promote(Identity()); }

  // Calls `visitor(TypeTag<Component>{})` for each component.
  template <typename Visitor>
  WARPFOLD_HD static void ForEach(Visitor&& visitor) {
    (visitor(TypeTag<Components>{}), ...);
  }
};

// The fusions that are compiled. A request runs on the smallest one that holds its ops: a component
// that nobody asked for costs little while a pass is bound by memory, and every further fusion
// costs build time.
enum class Bundle : std::uint8_t { kSum, kMin, kMax, kRange, kStatistics, kAll };

constexpr Bundle BundleOf(Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      return Bundle::kSum;
    case Op::kMin:
      return Bundle::kMin;
    case Op::kMax:
      return Bundle::kMax;
    case Op::kVar:
    case Op::kStd:
    case Op::kL1Norm:
    case Op::kL2Norm:
    case Op::kCountNonzero:
    case Op::kAny:
    case Op::kAll:
    case Op::kNanCount:
    case Op::kInfCount:
      return Bundle::kStatistics;
    case Op::kProd:
      return Bundle::kAll;
  }
  __builtin_unreachable();
}

// kSum, kMin and kMax hold one component, kRange the three of them, kStatistics those and more.
inline Bundle BundleFor(const std::vector<Op>& ops) {
  Bundle bundle = BundleOf(ops.front());
  for (const Op op : ops) {
    const Bundle other = BundleOf(op);
    if (other == bundle) continue;
    bundle = std::max({bundle, other, Bundle::kRange});
  }
  return bundle;
}

// Calls `visitor(TypeTag<Fold<T, ...>>{})` with the bundle's fold over T.
template <typename T, typename Visitor>
constexpr decltype(auto) VisitBundle(Bundle bundle, Visitor&& visitor) {
  switch (bundle) {
    case Bundle::kSum:
      return std::forward<Visitor>(visitor)(TypeTag<Fold<T, Sum<T>>>{});
    case Bundle::kMin:
      return std::forward<Visitor>(visitor)(TypeTag<Fold<T, Min<T>>>{});
    case Bundle::kMax:
      return std::forward<Visitor>(visitor)(TypeTag<Fold<T, Max<T>>>{});
    case Bundle::kRange:
      return std::forward<Visitor>(visitor)(TypeTag<Fold<T, Sum<T>, Min<T>, Max<T>>>{});
    case Bundle::kStatistics:
      return std::forward<Visitor>(visitor)(
          TypeTag<Fold<T, Sum<T>, Min<T>, Max<T>, NonzeroCount<T>, NanCount<T>, InfCount<T>,
                       AbsSum<T>, SquareSum<T>, Moments<T>>>{});
    case Bundle::kAll:
      return std::forward<Visitor>(visitor)(
          TypeTag<Fold<T, Sum<T>, Min<T>, Max<T>, NonzeroCount<T>, NanCount<T>, InfCount<T>,
                       AbsSum<T>, SquareSum<T>, Moments<T>, Product<T>>>{});
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
