// What packing states and unpacking them share: the fields of a component's value, in order, and
// which values elements can come to.
#ifndef WARPFOLD_KERNELS_CPU_PACK_FIELDS_H_
#define WARPFOLD_KERNELS_CPU_PACK_FIELDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/part.h"
#include "kernels/values.h"

namespace warpfold::cpu {

// The kind that a component of elements T is.
template <typename T, class C>
inline constexpr ValueKind kKindOf = [] {
  ValueKind found{};
  [&]<int... kKinds>(std::integer_sequence<int, kKinds...>) {
    ((std::is_same_v<C, ComponentOf<T, static_cast<ValueKind>(kKinds)>>
          ? void(found = static_cast<ValueKind>(kKinds))
          : void()),
     ...);
  }
  (std::make_integer_sequence<int, kValueKindCount>());
  return found;
}();

// A packed value is the state's fields without the padding between or behind them.
class Writer {
 public:
  explicit Writer(char* out) : out_(out) {}
  template <typename Field>
  void operator()(Field field) {
    std::memcpy(out_, &field, sizeof(field));
    out_ += sizeof(field);
  }

 private:
  char* out_;
};

class Reader {
 public:
  explicit Reader(const char* in) : in_(in) {}
  template <typename Field>
  void operator()(Field& field) {
    std::memcpy(&field, in_, sizeof(field));
    in_ += sizeof(field);
  }

 private:
  const char* in_;
};

// Calls `visit` with each field of a state, in the order in which they are packed.
template <class C, typename State, class Visit>
void VisitFields(State& state, Visit&& visit) {
  if constexpr (Indexed<C>) {
    visit(state.key);
    visit(state.index);
  } else if constexpr (requires { state.magnitude; }) {
    visit(state.magnitude);
    visit(state.negative);
    visit(state.past);
  } else {
    visit(state);
  }
}

// Whether an element stored as S, or none, has the key in MIN or MAX: NaN has one key in each.
template <class C, typename S>
constexpr bool IsKeyOfElement(OrderedKey<S> key) {
  using T = Lifted<S>;
  if constexpr (kIsFloat<T>) {
    if (key < kLowestKey<T> || key > kHighestKey<T>) return false;
    if (!IsNan(FromKey<T>(key))) return ToKey(FromKey<S>(key)) == key;
    typename C::Acc nan = C::Identity();
    C::Add(nan, QuietNan<T>());
    return key == nan || key == C::Identity();
  } else if constexpr (std::is_same_v<T, Bool>) {
    return key == 0 || key == 1;
  } else {
    return key >= ToKey(std::numeric_limits<T>::min()) &&
           key <= ToKey(std::numeric_limits<T>::max());
  }
}

// The same in ARGMIN and ARGMAX: of -0.0 that of +0.0.
template <class C, typename S>
bool IsKeyOfPlacedElement(std::int64_t key) {
  if constexpr (std::is_same_v<S, Bool>) {
    return key == (C::Value::kJoin == Join::kMin ? 0 : ~0) ||
           key == (C::Value::kJoin == Join::kMin ? 1 : ~1);
  } else {
    // But for NaN, whose key is no number's.
    const auto element = C::ElementOf(key);
    const auto stored = IsNan(element) ? element : Lift(Lower<S>(element));
    return PromoteAt<C>(C::At(stored, 0), ElementIndexing{}).key == key;
  }
}

// Whether the value is one that `elements` elements, stored as S, can come to, as far as anything
// depends on it.
template <class C, typename S>
bool IsPossible(const typename C::State& state, const ReducedElements& elements) {
  using T = Lifted<S>;
  using State = typename C::State;
  if constexpr (Indexed<C>) {
    return (elements.Has(state.index) && IsKeyOfPlacedElement<C, S>(state.key)) ||
           (state.index == C::kNone && state.key == C::kNone);
  } else if constexpr (std::is_same_v<C, Min<T>> || std::is_same_v<C, Max<T>>) {
    return IsKeyOfElement<C, S>(state);
  } else if constexpr (requires { state.magnitude; }) {
    const bool may_be_negative =
        !kIsUnsigned<T> && !std::is_same_v<T, Bool> && state.magnitude != 0;
    return state.negative <= (may_be_negative ? 1 : 0) && state.past <= 1;
  } else if constexpr (std::is_same_v<C, InfCount<T>> && kIsFloat<S> && !kHasInfinities<S>) {
    return state == 0;
  } else {
    static_assert(std::is_same_v<State, std::int64_t>);
    return state >= 0 && state <= elements.count;
  }
}

// Whether a value that IsPossible of so many elements that take part agrees with their number: of
// extrema the key of no element, which is no integer's own.
template <class C, typename T>
bool AgreesWithCount(const typename C::State& state, std::int64_t count) {
  if constexpr (Indexed<C>) {
    return (state.index == C::kNone) == (count == 0);
  } else if constexpr (kIsFloat<T> && (std::is_same_v<C, Min<T>> || std::is_same_v<C, Max<T>>)) {
    return (state == C::Identity()) == (count == 0);
  } else {
    return true;
  }
}

// What exact_pack.cc packs as numbers, by its VisitSums.
constexpr bool IsSumKind(ValueKind kind) {
  return kind == ValueKind::kSum || kind == ValueKind::kAbsSum || kind == ValueKind::kSquareSum;
}

// Calls `visitor(TypeTag<Component>{}, i)` for each component of F that is kinds[i], but for sums.
template <class F, typename Visitor>
void VisitKinds(const std::vector<ValueKind>& kinds, Visitor&& visitor) {
  F::ForEach([&](auto tag) {
    constexpr ValueKind kKind = kKindOf<typename F::Element, typename decltype(tag)::type>;
    if constexpr (!IsSumKind(kKind)) {
      const auto found = std::find(kinds.begin(), kinds.end(), kKind);
      if (found != kinds.end()) visitor(tag, static_cast<std::size_t>(found - kinds.begin()));
    }
  });
}

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_PACK_FIELDS_H_
