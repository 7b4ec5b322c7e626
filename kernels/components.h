// What a reduction accumulates. An op is computed from one or two components; several components
// fuse into one pass (fold.h).
//
// A component is: Acc, what elements add up in inside a tile or leaf; State, what partial results
// are; Identity, which changes nothing it is combined with, so that a missing element and the
// identity are the same thing; Add, which adds an element to either of them; Combine, of two of
// either, commutative to the bit; Promote (Acc -> State).
#ifndef WARPFOLD_KERNELS_COMPONENTS_H_
#define WARPFOLD_KERNELS_COMPONENTS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/element.h"
#include "kernels/host_device.h"

namespace warpfold {

// Of a sum. Floats add in float64: an f32 sum then has no error that its one final rounding does
// not hide, and on an H200 it costs nothing against f32 (the pass is bound by memory). Integers add
// in what holds a tile of them, int32 or int64; states and 64-bit elements add in int128, so that
// no sum ever wraps.
template <typename T>
struct Additive {
  using State = std::conditional_t<kIsFloat<T>, double, int128>;
  using Acc = std::conditional_t<
      kIsFloat<T>, double,
      std::conditional_t<(sizeof(T) < 4), std::int32_t,
                         std::conditional_t<(sizeof(T) < 8), std::int64_t, int128>>>;

  template <typename A>
  WARPFOLD_HD static constexpr A Combine(A a, A b) {
    return a + b;
  }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return static_cast<State>(a); }
};

// SUM and MEAN.
template <typename T>
struct Sum : Additive<T> {
  using typename Additive<T>::Acc;
  // -0.0, not 0.0: x + -0.0 is x for every x, and 0.0 would turn a sum of negative zeros positive.
  WARPFOLD_HD static constexpr Acc Identity() {
    return kIsFloat<T> ? static_cast<Acc>(-0.0) : Acc{0};
  }
  template <typename A>
  WARPFOLD_HD static void Add(A& a, T x) {
    a += static_cast<A>(Widen(x));
  }
};

// L1_NORM: the sum of absolute values.
template <typename T>
struct AbsSum : Additive<T> {
  using typename Additive<T>::Acc;
  WARPFOLD_HD static constexpr Acc Identity() { return Acc{0}; }
  template <typename A>
  WARPFOLD_HD static void Add(A& a, T x) {
    const A wide = static_cast<A>(Widen(x));
    // Of a NaN the sign may stay: the result has none.
    a += wide < 0 ? -wide : wide;
  }
};

// L2_NORM: the sum of squares, in float64 for every dtype.
template <typename T>
struct SquareSum {
  using Acc = double;
  using State = double;
  WARPFOLD_HD static constexpr Acc Identity() { return 0.0; }
  WARPFOLD_HD static void Add(double& a, T x) {
    const double wide = static_cast<double>(Widen(x));
    a += wide * wide;
  }
  WARPFOLD_HD static constexpr double Combine(double a, double b) { return a + b; }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};

// MIN and MAX. One integer minimum an element, vectorised everywhere, with a unique answer for
// zeros and NaN: NaN takes the key beyond the winning end.
template <typename T, bool kIsMin>
struct Extremum {
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

// Elements of a kind.
struct Counting {
  using Acc = std::int32_t;  // holds a tile's
  using State = std::int64_t;
  WARPFOLD_HD static constexpr Acc Identity() { return 0; }
  template <typename A>
  WARPFOLD_HD static constexpr A Combine(A a, A b) {
    return a + b;
  }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};

// COUNT_NONZERO, ANY and ALL. NaN is not zero; both zeros are.
template <typename T>
struct NonzeroCount : Counting {
  template <typename A>
  WARPFOLD_HD static void Add(A& a, T x) {
    a += static_cast<A>(Widen(x) != 0);
  }
};

// NAN_COUNT and INF_COUNT; of integers always 0.
template <typename T>
struct NanCount : Counting {
  template <typename A>
  WARPFOLD_HD static void Add(A& a, T x) {
    a += static_cast<A>(IsNan(x));
  }
};
template <typename T>
struct InfCount : Counting {
  template <typename A>
  WARPFOLD_HD static void Add(A& a, T x) {
    a += static_cast<A>(IsInf(x));
  }
};

// VAR and STD. Elements join by Welford's recurrence, sets by Chan's, in float64: neither squares
// what has not had a mean taken off, so a mean far above the deviation costs no digits that the
// elements had.
template <typename T>
struct Moments {
  struct Acc {
    double mean;
    double squares;  // of the deviations from the mean, added up
    std::int64_t count;
  };
  using State = Acc;

  WARPFOLD_HD static constexpr Acc Identity() { return {0.0, 0.0, 0}; }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    const double wide = static_cast<double>(Widen(x));
    ++a.count;
    const double deviation = wide - a.mean;
    // The reciprocal is a constant where the compiler knows the count: inside tiles and leaves.
    a.mean += deviation * (1.0 / static_cast<double>(a.count));
    a.squares += deviation * (wide - a.mean);
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double a_count = static_cast<double>(a.count);
    const double b_count = static_cast<double>(b.count);
    const double count = a_count + b_count;
    const double apart = a.mean - b.mean;
    // Written symmetrically in a and b.
    return {(a_count * a.mean + b_count * b.mean) / count,
            (a.squares + b.squares) + (apart * apart) * ((a_count * b_count) / count),
            a.count + b.count};
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

// PROD. Of floats in float64. Of integers as a magnitude that stays exact while it fits in 64 bits
// and says so once it does not: magnitudes other than 0 never shrink again, so no order of the
// factors hides an overflow or invents one.
template <typename T>
struct FloatProduct {
  using Acc = double;
  using State = double;
  WARPFOLD_HD static constexpr Acc Identity() { return 1.0; }
  WARPFOLD_HD static void Add(double& a, T x) { a *= static_cast<double>(Widen(x)); }
  WARPFOLD_HD static constexpr double Combine(double a, double b) { return a * b; }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};

template <typename T>
struct IntegerProduct {
  struct Acc {
    std::uint64_t magnitude;  // the largest value once it is past 64 bits
    std::uint32_t negative;
    std::uint32_t past;  // the magnitude did not fit
  };
  using State = Acc;

  WARPFOLD_HD static constexpr Acc Identity() { return {1, 0, 0}; }
  WARPFOLD_HD static void Add(Acc& a, T x) {
    const std::uint64_t bits = static_cast<std::uint64_t>(Widen(x));
    bool negative = false;
    if constexpr (std::is_signed_v<Wide<T>>) negative = Widen(x) < 0;
    a = Combine(a, {negative ? 0 - bits : bits, negative ? 1u : 0u, 0});
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    if (a.magnitude == 0 || b.magnitude == 0) return {0, 0, 0};
    const uint128 product = static_cast<uint128>(a.magnitude) * b.magnitude;
    const bool past = a.past != 0 || b.past != 0 || (product >> 64) != 0;
    return {past ? ~std::uint64_t{0} : static_cast<std::uint64_t>(product), a.negative ^ b.negative,
            past ? 1u : 0u};
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

template <typename T>
struct Product : std::conditional_t<kIsFloat<T>, FloatProduct<T>, IntegerProduct<T>> {};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_COMPONENTS_H_
