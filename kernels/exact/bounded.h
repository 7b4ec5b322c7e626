// Components (kernels/components.h) whose sums lie close enough to the real ones that nearly always
// both ends of what the real one may be round to the same result (bounded_finish.h).
//
// Elements add up in float64: those of up to 32 bits in one number, float64 and squares in two. Of
// a state the sum says itself how far off it may be (NearSum), which is mostly not at all.
#ifndef WARPFOLD_KERNELS_EXACT_BOUNDED_H_
#define WARPFOLD_KERNELS_EXACT_BOUNDED_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/tiles.h"
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
// The same number, `low` less than half a unit of the last place of `high`. A -0.0 keeps its sign.
WARPFOLD_HD Pair Normalized(const Pair& x) {
  return x.low == 0 ? Pair{x.high, 0} : TwoSum(x.high, x.low);
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

template <typename T>
struct SumPair : PairSum {
  WARPFOLD_HD static void Add(Acc& a, T x) { AddNumber(a, WidenToDouble(x)); }
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

// A component of which only what elements add up in is there, and not the states.
template <class C>
struct Transient : C {
  static constexpr bool kIsTransient = true;
};

template <typename T>
inline constexpr bool kSumsAreDoubleDouble = kIsDouble<T>;
template <typename T>
using BoundedAbsSum = std::conditional_t<kSumsAreDoubleDouble<T>, AbsSumPair<T>, AbsSum<T>>;

// Additions that an element goes through one after another, at most: of columns 256 of a thread's
// rows (32 leaves), 9 over the threads of a block and 14 in each further pass (5 of a thread's 32
// states, 9 over the threads), of which there are no more than 5, as each leaves a 128th or less.
// Rows take fewer.
inline constexpr double kAdditionsMax = 512;
// Of the float64 sums of so many, as a share of the sum of absolute values; and of those of pairs.
// Windows of 2^b elements (windowed_sums.h) have a `low` of 2^(2 b - 50) of their sum, which they
// and up to 32 joins one after another round in its 53rd bit.
inline constexpr double kSumError = kAdditionsMax * 0x1p-53;
template <typename T>
inline constexpr double kPairSumError = kIsDouble<T> ? 0x1p-79 : 0x1p-73;
template <typename T>
inline constexpr double kSumErrorOf = kSumsAreDoubleDouble<T> ? kPairSumError<T> : kSumError;

// The exponent of elements of a size; subnormal numbers have the unit of exponent 1.
template <typename T>
WARPFOLD_HD int ExponentOf(std::int32_t size) {
  const int exponent = size >> (kIsDouble<T> ? 20 : 23);
  return exponent > 1 ? exponent : 1;
}

// 2^this is `count` or more.
WARPFOLD_HD int CountBits(int count) {
  return BitLength(static_cast<uint128>(count > 1 ? count - 1 : 0));
}

// Whether every sum of elements of these sizes is exact, of 2^count_bits of them at most, in one
// float64 or in a pair. `smallest_less_one`: SmallestSize's.
template <typename T, bool kInPairs = kSumsAreDoubleDouble<T>>
WARPFOLD_HD bool AreSumsExact(std::int32_t largest, std::int32_t smallest_less_one,
                              int count_bits) {
  constexpr int kBits = kInPairs ? 106 : 53;
  constexpr int kInfinity = kIsDouble<T> ? 0x7ff00000 : 0x7f800000;
  const int room =
      kBits - FloatFormat<T>::kPrecision - (kInPairs ? 2 * count_bits + 2 : count_bits);
  const bool is_zero = smallest_less_one == SmallestSize<T>::kNone;
  return largest < kInfinity &&
         (is_zero || ExponentOf<T>(largest) - ExponentOf<T>(smallest_less_one + 1) <= room);
}

// No less than an element of a size; not finite if that is not.
template <typename T>
WARPFOLD_HD double SizeBound(std::int32_t size) {
  if constexpr (kIsDouble<T>) {
    return BitCast<double>(static_cast<std::uint64_t>(size) << 32 | 0xffffffffu);
  } else {
    return static_cast<double>(BitCast<float>(static_cast<std::uint32_t>(size)));
  }
}

// The sizes of what an Acc or State of a fold has taken. Of the largest NaN beats all, and of
// floats of up to 32 bits may be missing.
template <class F, typename Value>
WARPFOLD_HD std::int32_t LargestOf(const Value& value) {
  using T = typename F::Element;
  if constexpr (F::template kHas<Transient<LargestSize<T>>>) {
    return F::template Get<Transient<LargestSize<T>>>(value);
  } else if constexpr (F::template kHas<LargestSize<T>>) {
    return F::template Get<LargestSize<T>>(value);
  } else {
    // Of nothing the keys are beyond all.
    if (F::template Get<Min<T>>(value) > F::template Get<Max<T>>(value)) return 0;
    const std::int32_t least = SizeOf(FromKey<T>(F::template Get<Min<T>>(value)));
    const std::int32_t greatest = SizeOf(FromKey<T>(F::template Get<Max<T>>(value)));
    return least > greatest ? least : greatest;
  }
}
template <class F, typename Value>
WARPFOLD_HD std::int32_t SmallestOf(const Value& value) {
  using Size = SmallestSize<typename F::Element>;
  if constexpr (F::template kHas<Transient<Size>>) {
    return F::template Get<Transient<Size>>(value);
  } else {
    return F::template Get<Size>(value);
  }
}

// The real sum is within error() of high + low. NaN and infinities are in `high` alone.
//
// Of floats of up to 32 bits all parts are multiples of the least float32, and 24 bits of `low` are
// mostly all there are. Sums of float64 may be infinite though no element is, which `largest`
// tells: its size (SizeOf).
template <typename T>
struct NearParts {
  double high;
  float low;
  std::uint32_t error_top;
};
template <>
struct NearParts<double> {
  double high;
  double low;
  std::uint32_t error_top;
  std::int32_t largest;
};
template <typename T>
struct NearSum : NearParts<T> {
  WARPFOLD_HD Pair value() const { return {this->high, static_cast<double>(this->low)}; }
  WARPFOLD_HD double error() const {
    return BitCast<double>(static_cast<std::uint64_t>(this->error_top) << 32);
  }

  WARPFOLD_HD static NearSum Of(const Pair& sum, double error, std::int32_t largest) {
    NearSum near;
    near.high = sum.high;
    near.low = static_cast<decltype(near.low)>(sum.low);
    const auto bits = BitCast<std::uint64_t>(error + std::fabs(sum.low - near.value().low));
    near.error_top =  // no less
        static_cast<std::uint32_t>(bits >> 32) + (static_cast<std::uint32_t>(bits) != 0 ? 1 : 0);
    if constexpr (kIsDouble<T>) near.largest = largest;
    return near;
  }
  WARPFOLD_HD static NearSum Join(const NearSum& a, const NearSum& b) {
    const Pair high = TwoSum(a.high, b.high);
    std::int32_t largest = 0;
    if constexpr (kIsDouble<T>) largest = a.largest > b.largest ? a.largest : b.largest;
    // Mostly, of tiles of narrow elements.
    if (high.low == 0 && a.low == 0 && b.low == 0 && (a.error_top | b.error_top) == 0) {
      return Of({high.high, 0}, 0, largest);
    }
    const Pair low = TwoSum(a.value().low, b.value().low);
    const Pair rest = TwoSum(low.high, high.low);
    return Of({high.high, rest.high},
              a.error() + b.error() + (std::fabs(low.low) + std::fabs(rest.low)), largest);
  }
};

// SUM and MEAN. The fold has the sizes of the elements beside it, which tell the error of an Acc.
template <typename T>
struct BoundedSum {
  using Addition = std::conditional_t<kSumsAreDoubleDouble<T>, SumPair<T>, Sum<T>>;
  using Acc = typename Addition::Acc;
  using State = NearSum<T>;
  WARPFOLD_HD static Acc Identity() { return Addition::Identity(); }
  WARPFOLD_HD static void Add(Acc& a, T x) { Addition::Add(a, x); }
  WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) { return Addition::Combine(a, b); }
  WARPFOLD_HD static State Combine(const State& a, const State& b) { return State::Join(a, b); }

  // Of an Acc of a fold, which has taken `count` elements at most, a tile or fewer.
  template <class F>
  WARPFOLD_HD static State PromoteIn(const typename F::Acc& acc, int count) {
    return State::Of(ToPair(F::template Get<BoundedSum>(acc)), ErrorOf<F>(acc, count),
                     LargestOf<F>(acc));
  }
  template <class F, bool kInPairs = kSumsAreDoubleDouble<T>, typename Value>
  WARPFOLD_HD static double ErrorOf(const Value& value, int count) {
    // So many additions one after another there are no more.
    const double rounding = (count < kAdditionsMax ? count : kAdditionsMax) * 0x1p-53;
    const double share = kInPairs ? 4 * rounding * rounding : rounding;
    if constexpr (F::template kHas<AbsSum<T>> && !kInPairs) {
      const double total = F::template Get<AbsSum<T>>(value);
      return IsWhole(total, SmallestOf<F>(value)) ? 0 : total * (1 + 0x1p-40) * share;
    } else {
      const std::int32_t largest = LargestOf<F>(value);
      if (AreSumsExact<T, kInPairs>(largest, SmallestOf<F>(value), CountBits(count))) return 0;
      return count * SizeBound<T>(largest) * share;
    }
  }

 private:
  // Whether a sum of absolute values is below 2^53 units of the smallest element: all sums of the
  // elements are whole numbers of it, and so exact. As integers: the exponents of both.
  WARPFOLD_HD static bool IsWhole(double total, std::int32_t smallest_less_one) {
    constexpr int kUnitsBias = 1022 - 127 + 53 - (FloatFormat<T>::kPrecision - 1);
    const auto exponent = static_cast<int>(BitCast<std::uint64_t>(total) >> 52);
    const bool is_zero = smallest_less_one == SmallestSize<T>::kNone;
    return exponent < 0x7ff &&
           (is_zero || exponent - kUnitsBias <= ExponentOf<T>(smallest_less_one + 1));
  }
  WARPFOLD_HD static Pair ToPair(double x) { return {x, 0}; }
  WARPFOLD_HD static Pair ToPair(const Pair& x) { return x; }
};

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
template <typename Stored, typename T = Lifted<Stored>>
using BoundedSumAlone =
    PlainFold<Stored, BoundedSum<T>, Transient<LargestSize<T>>, Transient<SmallestSize<T>>>;
// The sums of BoundedStatistics alone.
template <typename Stored>
using BoundedSumsAlone = internal::BoundedSumsAloneOf<Stored, Lifted<Stored>>;

template <class F>
inline constexpr bool kIsBounded = F::template kHas<BoundedSum<typename F::Element>>;

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_BOUNDED_H_
