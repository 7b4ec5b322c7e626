// Components (kernels/components.h) whose sums lie close enough to the real ones that nearly always
// both ends of what the real one may be round to the same result (bounded_finish.h).
//
// Of floats of up to 32 bits a sum is one float64 number, of float64 and of squares two of them.
#ifndef WARPFOLD_KERNELS_EXACT_BOUNDED_H_
#define WARPFOLD_KERNELS_EXACT_BOUNDED_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold::exact {

// The number high + low.
struct Pair {
  double high;
  double low;
};

// a + b, without an error where it does not overflow (Knuth).
WARPFOLD_HD Pair TwoSum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
// a * b, without an error where neither it nor what it was rounded by leaves the normal numbers.
WARPFOLD_HD Pair TwoProduct(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

struct PairSum {
  using Acc = Pair;
  using State = Pair;
  // -0.0 adds nothing to any number, and to no other one.
  WARPFOLD_HD static Acc Identity() { return {-0.0, 0.0}; }
  WARPFOLD_HD static void AddNumber(Acc& a, double x) {
    const Pair sum = TwoSum(a.high, x);
    a = {sum.high, a.low + sum.low};
  }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
    const Pair sum = TwoSum(a.high, b.high);
    return {sum.high, sum.low + (a.low + b.low)};
  }
  WARPFOLD_HD static State Promote(const Acc& a) { return a; }
};

// SUM and MEAN of float64.
template <typename T>
struct SumPair : PairSum {
  WARPFOLD_HD static void Add(Acc& a, T x) { AddNumber(a, x); }
};
// Its L1_NORM.
template <typename T>
struct AbsSumPair : PairSum {
  WARPFOLD_HD static void Add(Acc& a, T x) { AddNumber(a, std::fabs(x)); }
};
// L2_NORM, VAR and STD.
template <typename T>
struct SquareSumPair : PairSum {
  WARPFOLD_HD static void Add(Acc& a, T x) { AddSquareOf(a, WidenToDouble(x)); }
  // `wide`: an element.
  WARPFOLD_HD static void AddSquareOf(Acc& a, double wide) {
    if constexpr (kIsDouble<T>) {
      const Pair square = TwoProduct(wide, wide);
      AddNumber(a, square.high);
      a.low += square.low;
    } else {
      // TwoSum of the square, which a float64 holds.
      const double sum = std::fma(wide, wide, a.high);
      const double of_square = sum - a.high;
      a.low += (a.high - (sum - of_square)) + std::fma(wide, wide, -of_square);
      a.high = sum;
    }
  }
};

// An element without its sign, as integers that are ordered as such sizes are: the bits of the
// float32 that it is, or the upper half of a float64's, whose last bit is set if any below is.
template <typename T>
WARPFOLD_HD std::int32_t SizeOf(T x) {
  if constexpr (kIsDouble<T>) {
    const auto bits = BitCast<std::uint64_t>(x);
    const std::uint32_t below = static_cast<std::uint32_t>(bits) != 0 ? 1 : 0;
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(bits >> 32) | below) &
                                     0x7fffffffu);
  } else {
    return static_cast<std::int32_t>(BitCast<std::uint32_t>(Widen(x)) & 0x7fffffffu);
  }
}

// The largest of elements; a NaN among them may be left out where their sum is one float64, which
// shows it.
template <typename T>
struct LargestSize {
  static constexpr warpfold::Join kJoin = warpfold::Join::kMax;
  using Acc = std::int32_t;
  using State = Acc;
  WARPFOLD_HD static constexpr Acc Identity() { return 0; }
  WARPFOLD_HD static void Add(Acc& a, T x) { a = Combine(a, SizeOf(x)); }
  WARPFOLD_HD static constexpr Acc Combine(Acc a, Acc b) { return a > b ? a : b; }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};
// The smallest of those that are not zero, less one.
template <typename T>
struct SmallestSize {
  static constexpr warpfold::Join kJoin = warpfold::Join::kMin;
  using Acc = std::int32_t;
  using State = Acc;
  static constexpr Acc kNone = 0x7fffffff;
  WARPFOLD_HD static constexpr Acc Identity() { return kNone; }
  WARPFOLD_HD static void Add(Acc& a, T x) { a = Combine(a, (SizeOf(x) - 1) & 0x7fffffff); }
  WARPFOLD_HD static constexpr Acc Combine(Acc a, Acc b) { return a < b ? a : b; }
  WARPFOLD_HD static constexpr State Promote(Acc a) { return a; }
};

template <typename T>
inline constexpr bool kSumsAreDoubleDouble = kIsDouble<T>;
template <typename T>
using BoundedSum = std::conditional_t<kSumsAreDoubleDouble<T>, SumPair<T>, Sum<T>>;
template <typename T>
using BoundedAbsSum = std::conditional_t<kSumsAreDoubleDouble<T>, AbsSumPair<T>, AbsSum<T>>;

namespace internal {

// Of elements stored as Stored and lifted to T.
template <typename Stored, typename T, NanPolicy kNanPolicy, class... More>
using BoundedStatisticsOf =
    Fold<Stored, kNanPolicy, BoundedSum<T>, Min<T>, Max<T>, NanCount<T>, InfCount<T>,
         BoundedAbsSum<T>, SquareSumPair<T>, SmallestSize<T>, More...>;
template <typename Stored, typename T>
using BoundedSumsAloneOf = PlainFold<Stored, BoundedSum<T>, BoundedAbsSum<T>, SquareSumPair<T>,
                                     LargestSize<T>, SmallestSize<T>>;

}  // namespace internal

template <typename Stored, NanPolicy kNanPolicy>
using BoundedStatistics = internal::BoundedStatisticsOf<Stored, Lifted<Stored>, kNanPolicy>;
template <typename Stored, NanPolicy kNanPolicy, typename T = Lifted<Stored>>
using BoundedFull =
    internal::BoundedStatisticsOf<Stored, T, kNanPolicy, NonzeroCount<T>, ArgMin<T>, ArgMax<T>>;
// The sums of BoundedStatistics alone.
template <typename Stored>
using BoundedSumsAlone = internal::BoundedSumsAloneOf<Stored, Lifted<Stored>>;

template <class F>
inline constexpr bool kIsBounded = F::template kHas<SmallestSize<typename F::Element>>;

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_BOUNDED_H_
