// What a reduction accumulates. An op is computed from one component; several components fuse into
// one pass (fold.h).
//
// A component is: Acc, what elements add up in inside a tile or leaf; State, what partial results
// are; Identity, which changes nothing it is combined with, so that a missing element and the
// identity are the same thing; Lift (element -> Acc); Combine, commutative to the bit; Promote (Acc
// -> State).
#ifndef WARPFOLD_KERNELS_COMPONENTS_H_
#define WARPFOLD_KERNELS_COMPONENTS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/host_device.h"

namespace warpfold {

// SUM and MEAN. Floats add in float64: an f32 sum then has no error that its one final rounding
// does not hide, and on an H200 it costs nothing against f32 (the pass is bound by memory).
// Integers up to 32 bits add in int64, which holds a tile of anything; states and 64-bit elements
// add in int128, so that no sum ever wraps.
template <typename T>
struct Sum {
  static constexpr bool kIsFloat = std::is_floating_point_v<T>;
  using State = std::conditional_t<kIsFloat, double, int128>;
  using Acc = std::conditional_t<kIsFloat, double,
                                 std::conditional_t<(sizeof(T) < 8), std::int64_t, int128>>;

  // -0.0, not 0.0: x + -0.0 is x for every x, and 0.0 would turn a sum of negative zeros positive.
  WARPFOLD_HD static constexpr Acc Identity() { return kIsFloat ? static_cast<Acc>(-0.0) : Acc{0}; }
  WARPFOLD_HD static constexpr Acc Lift(T x) { return static_cast<Acc>(x); }
  template <typename A>
  WARPFOLD_HD static constexpr A Combine(A a, A b) {
    return a + b;
  }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return static_cast<State>(a); }
};

// Floats as integers that order the same way: -inf < ... < -0.0 < +0.0 < ... < inf. The mapping is
// its own inverse. Integers stand for themselves.
template <typename T>
using OrderedKey = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <typename T>
inline constexpr OrderedKey<T> kAllButSign = std::numeric_limits<OrderedKey<T>>::max();

template <typename T>
WARPFOLD_HD constexpr OrderedKey<T> FlipNegative(OrderedKey<T> bits) {
  return bits ^ ((bits >> (8 * sizeof(T) - 1)) & kAllButSign<T>);
}

// MIN and MAX. One integer minimum an element, vectorised everywhere, with a unique answer for
// zeros and NaN: NaN takes the key beyond the winning end, where no number lives.
template <typename T, bool kIsMin>
struct Extremum {
  using Acc = OrderedKey<T>;
  using State = Acc;
  static constexpr Acc kLowest = std::numeric_limits<Acc>::min();
  static constexpr Acc kHighest = std::numeric_limits<Acc>::max();

  WARPFOLD_HD static constexpr Acc Identity() { return kIsMin ? kHighest : kLowest; }
  WARPFOLD_HD static Acc Lift(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      const Acc key = FlipNegative<T>(BitCast<Acc>(x));
      return x != x ? (kIsMin ? kLowest : kHighest) : key;
    } else {
      return x;
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

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_COMPONENTS_H_
