// What a reduction accumulates: for each kind of values (ops/value_kind.h) a component, and several
// of them fuse into one pass (fold.h).
//
// A component is: Acc, what elements add up in inside a tile or leaf; State, what partial results
// are; Identity, which changes nothing it is combined with, so that a missing element and the
// identity are the same thing; Add, which adds an element to an Acc; Combine, of two of either,
// commutative to the bit; Promote (Acc -> State), or PromoteIn, which reads the Acc of the others
// that it is fused with.
//
// An indexed component also wants to know where an element is: its Add takes the element's number
// in the tile or leaf, and its Promote the ElementIndexing that makes of it an index in the tensor.
#ifndef WARPFOLD_KERNELS_COMPONENTS_H_
#define WARPFOLD_KERNELS_COMPONENTS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "kernels/dtypes/catalogue.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/host_device.h"
#include "kernels/integer_product.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

// Elements that an Acc may take: so many 16-bit integers add up in int32, and so many numbers fit
// in the 16 bits beside a small element's key.
inline constexpr std::int64_t kAccElementsMax = 16384;

// Where the elements of an Acc are: number i at the tensor's linear element offset first + i *
// step.
struct ElementIndexing {
  std::int64_t first = 0;
  std::int64_t step = 1;
};

// What Combine does to two Acc, as far as hardware has an instruction for it.
enum class Join : std::uint8_t { kOther, kAdd, kMin, kMax };
template <class C>
inline constexpr Join kJoinOf = Join::kOther;
template <class C>
requires requires { C::kJoin; }
inline constexpr Join kJoinOf<C> = C::kJoin;

// What components that only add have in common.
template <typename AccType, typename StateType>
struct Adding {
  static constexpr Join kJoin = Join::kAdd;
  using Acc = AccType;
  using State = StateType;
  WARPFOLD_HD static constexpr Acc Identity() { return Acc{0}; }
  template <typename A>
  WARPFOLD_HD static constexpr A Combine(A a, A b) {
    return a + b;
  }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return static_cast<State>(a); }
};

// Of a sum. Floats add in float64: an f32 sum then has no error that its one final rounding does
// not hide, and on an H200 it costs nothing against f32 (the pass is bound by memory). Integers add
// in what holds a tile of them, int32 or int64; states and 64-bit elements add in int128, so that
// no sum ever wraps.
template <typename T>
using Additive =
    Adding<std::conditional_t<
               kIsFloat<T>, double,
               std::conditional_t<kIsNarrowInteger<T>, std::int32_t,
                                  std::conditional_t<kIsWideInteger<T>, int128, std::int64_t>>>,
           std::conditional_t<kIsFloat<T>, double, int128>>;

// SUM and MEAN.
template <typename T>
struct Sum : Additive<T> {
  using typename Additive<T>::Acc;
  // -0.0, not 0.0: x + -0.0 is x for every x, and 0.0 would turn a sum of negative zeros positive.
  WARPFOLD_HD static constexpr Acc Identity() {
    return kIsFloat<T> ? static_cast<Acc>(-0.0) : Acc{0};
  }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    if constexpr (kIsFloat<T>) {
      a += WidenToDouble(x);
    } else {
      a += static_cast<Acc>(Widen(x));
    }
  }
};

// L1_NORM: the sum of absolute values.
template <typename T>
struct AbsSum : Additive<T> {
  using typename Additive<T>::Acc;
  WARPFOLD_HD static void Add(Acc& a, T x) {
    if constexpr (kIsFloat<T>) {
      a += std::fabs(WidenToDouble(x));
    } else {
      const Acc wide = static_cast<Acc>(Widen(x));
      a += wide < 0 ? -wide : wide;
    }
  }
};

// L2_NORM, VAR and STD of BOOL and integers of up to 16 bits: the sum of squares. Others have
// exact/components.h's.
template <typename T>
inline constexpr bool kSquaresExactly = kIsNarrowInteger<T>;
template <typename T>
struct SquareSum
    : Adding<std::conditional_t<kIsByteInteger<T>, std::int32_t, std::int64_t>, int128> {
  static_assert(kSquaresExactly<T>);
  template <typename A>  // the one Acc
  WARPFOLD_HD static void Add(A& a, T x) {
    const auto wide =
        static_cast<std::conditional_t<kIsByteInteger<T>, int, std::int64_t>>(Widen(x));
    a += static_cast<A>(wide * wide);
  }
};

// MIN and MAX. One integer minimum an element, vectorised everywhere, with a unique answer for
// zeros and NaN: NaN takes the key beyond the winning end.
template <typename T, bool kIsMin>
struct Extremum {
  static constexpr Join kJoin = kIsMin ? Join::kMin : Join::kMax;
  using Acc = OrderedKey<T>;
  using State = Acc;

  WARPFOLD_HD static constexpr Acc Identity() { return kIsMin ? kHighestKey<T> : kLowestKey<T>; }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    if constexpr (kIsFloat<T>) {
      a = Combine(a, IsNan(x) ? (kIsMin ? kLowestKey<T> : kHighestKey<T>) : ToKey(x));
    } else {
      a = Combine(a, ToKey(x));
    }
  }
  WARPFOLD_HD static constexpr Acc Combine(Acc a, Acc b) {
    if constexpr (kIsMin) {
      return b < a ? b : a;
    } else {
      return b > a ? b : a;
    }
  }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};

template <typename T>
struct Min : Extremum<T, true> {};
template <typename T>
struct Max : Extremum<T, false> {};

// ARGMIN and ARGMAX: the best key and where it was, of equal ones the first. Zeros of either sign
// are equal here, as in NumPy.
inline constexpr std::int64_t kNoIndex = std::numeric_limits<std::int64_t>::max();
template <typename T, bool kIsMin>
struct ArgExtremum {
  static constexpr bool kIsIndexed = true;
  static constexpr Join kJoin = Join::kMin;
  // Less is better; nothing is worse than no element.
  struct State {
    std::int64_t key;
    std::int64_t index;
  };
  // Elements of up to 32 bits: the key, then the number, in one integer that one minimum orders.
  static constexpr bool kIsPacked = kKeyBits<T> <= 32;
  static constexpr int kNumberBits = kKeyBits<T> == 16 ? 16 : 32;
  using Acc = std::conditional_t<kKeyBits<T> == 16, std::int32_t,
                                 std::conditional_t<kIsPacked, std::int64_t, State>>;
  static constexpr std::int64_t kNone = kNoIndex;
  static constexpr Acc kWorst = [] {
    if constexpr (kIsPacked) {
      return std::numeric_limits<Acc>::max();
    } else {
      return State{kNone, kNone};
    }
  }();

  using Value = Extremum<T, kIsMin>;  // the component of the value without the index

  WARPFOLD_HD static constexpr Acc Identity() { return kWorst; }
  // Of the one element x.
  WARPFOLD_HD static Acc At(T x, int number) {
    if constexpr (kIsPacked) {
      using Bits = std::make_unsigned_t<Acc>;
      return static_cast<Acc>((static_cast<Bits>(Key(x)) << kNumberBits) |
                              static_cast<Bits>(number));
    } else {
      return State{Key(x), number};
    }
  }
  // The element of a state's key, but for the sign of a zero.
  WARPFOLD_HD static T ElementOf(std::int64_t key) {
    auto ordered = static_cast<OrderedKey<T>>(kIsMin ? key : ~key);
    if constexpr (std::is_same_v<T, std::uint16_t>) ordered += 0x8000;
    return FromKey<T>(ordered);
  }
  WARPFOLD_HD static void Add(Acc& a, T x, int number) { a = Combine(a, At(x, number)); }
  template <typename A>
  WARPFOLD_HD static constexpr A Combine(const A& a, const A& b) {
    if constexpr (std::is_integral_v<A>) {
      return b < a ? b : a;
    } else {
      const bool b_is_better = b.key < a.key || (b.key == a.key && b.index < a.index);
      return b_is_better ? b : a;
    }
  }
  WARPFOLD_HD static constexpr State Promote(const Acc& a, const ElementIndexing& indexing) {
    if constexpr (kIsPacked) {
      if (a == Identity()) return {kNone, kNone};
      const Acc number = a & ((Acc{1} << kNumberBits) - 1);
      return {a >> kNumberBits, indexing.first + number * indexing.step};
    } else {
      return {a.key, a.index == kNone ? kNone : indexing.first + a.index * indexing.step};
    }
  }

 private:
  WARPFOLD_HD static OrderedKey<T> Key(T x) {
    OrderedKey<T> key = ToKey(x);
    if constexpr (kIsFloat<T>) {
      key = key == -1 ? 0 : key;
      key = kIsMin ? key : ~key;
      return IsNan(x) ? kLowestKey<T> : key;
    } else {
      if constexpr (std::is_same_v<T, std::uint16_t>) key -= 0x8000;  // into 16 bits
      return kIsMin ? key : ~key;
    }
  }
};

template <typename T>
struct ArgMin : ArgExtremum<T, true> {};
template <typename T>
struct ArgMax : ArgExtremum<T, false> {};

// Elements of a kind; an int32 holds a tile's.
using Counting = Adding<std::int32_t, std::int64_t>;

// COUNT_NONZERO, ANY and ALL. NaN is not zero; both zeros are.
template <typename T>
struct NonzeroCount : Counting {
  WARPFOLD_HD static void Add(std::int32_t& a, T x) { a += Widen(x) != 0 ? 1 : 0; }
};

// NAN_COUNT and INF_COUNT; of integers always 0.
template <typename T>
struct NanCount : Counting {
  WARPFOLD_HD static void Add(std::int32_t& a, T x) { a += IsNan(x) ? 1 : 0; }
};
template <typename T>
struct InfCount : Counting {
  WARPFOLD_HD static void Add(std::int32_t& a, T x) { a += IsInf(x) ? 1 : 0; }
};

// The component of a kind.
template <typename T, ValueKind kKind>
using ComponentOf = std::tuple_element_t<
    static_cast<std::size_t>(kKind),
    std::tuple<Sum<T>, AbsSum<T>, SquareSum<T>, Min<T>, Max<T>, ArgMin<T>, ArgMax<T>,
               NonzeroCount<T>, NanCount<T>, InfCount<T>, Product<T>>>;

// A component to which NaN elements are missing.
template <class C>
struct OmitNan : C {
  using Component = C;
};

template <class C>
inline constexpr bool kOmitsNan = false;
template <class C>
inline constexpr bool kOmitsNan<OmitNan<C>> = true;
template <typename T>
inline constexpr bool kOmitsNan<OmitNan<NanCount<T>>> = false;  // it counts them all the same

template <class C>
concept Indexed = C::kIsIndexed;

// C::Add for any component.
template <class C, typename Acc, typename T>
WARPFOLD_HD void AddElement(Acc& acc, T x, int number) {
  if constexpr (kOmitsNan<C>) {
    // Added first and chosen after, which compilers turn into SIMD where they do not a branch.
    Acc added = acc;
    AddElement<typename C::Component>(added, x, number);
    acc = IsNan(x) ? acc : added;
  } else if constexpr (Indexed<C>) {
    C::Add(acc, x, number);
  } else {
    C::Add(acc, x);
  }
}

// C::Promote for any component.
template <class C>
WARPFOLD_HD typename C::State PromoteAt(const typename C::Acc& acc,
                                        const ElementIndexing& indexing) {
  if constexpr (Indexed<C>) {
    return C::Promote(acc, indexing);
  } else {
    return C::Promote(acc);
  }
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_COMPONENTS_H_
