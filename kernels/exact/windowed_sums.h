// Bounded sums (bounded.h) of a tile whose largest size is known: two float64s a sum, and four
// operations an element where TwoSum takes seven.
//
// `high` starts at 1.5 * 2^k, a number so large that no sum of the elements leaves its binade. So
// every addition rounds to the same unit, what it is rounded by follows from two subtractions
// (Dekker's Fast2Sum), and the highs of lanes join without an error.
#ifndef WARPFOLD_KERNELS_EXACT_WINDOWED_SUMS_H_
#define WARPFOLD_KERNELS_EXACT_WINDOWED_SUMS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/bounded.h"
#include "kernels/exact/quick_sums.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// Folds that add so: of statistics, and of float64, whose sums are all pairs.
template <class F>
inline constexpr bool kHasWindowedSums = F::template kHas<SquareSumPair<typename F::Element>> ||
                                         (F::template kHas<BoundedSum<typename F::Element>> &&
                                          kIsDouble<typename F::Element>);
// What they add once the extrema are known. A sum of floats of up to 32 bits needs none, but would
// widen the elements another time.
template <typename T, class C>
inline constexpr bool kIsWindowed =
    std::is_same_v<C, BoundedSum<T>> || std::is_same_v<C, BoundedAbsSum<T>> ||
    std::is_same_v<C, SquareSumPair<T>>;

template <class F>
class WindowedSums {
 public:
  using T = typename F::Element;
  static constexpr bool kHasSquares = F::template kHas<SquareSumPair<T>>;

  using Number = typename BoundedSum<T>::Acc;
  struct Sum {
    Number sum;
  };
  struct AllSums {
    Number sum;
    Number absolute_sum;
    Pair squares;
  };
  using Value = std::conditional_t<kHasSquares, AllSums, Sum>;

  // `acc` has the extrema of the elements, or their largest size; there are `count` or fewer.
  WARPFOLD_HD WindowedSums(const typename F::Acc& acc, int count) {
    const int count_bits = CountBits(count);
    constexpr int kBias = kIsDouble<T> ? 1023 : 127;
    const std::int32_t largest = LargestOf<F>(acc);
    const int element_bits = ExponentOf<T>(largest) - kBias + 1;  // elements are below 2^this
    start_of_squares_ = StartOf(2 * element_bits + count_bits + 1);
    start_ = StartOf(element_bits + count_bits + 1);
    is_sum_told_ = !kIsDouble<T> || (largest != 0 && internal::IsFinite(start_));
  }
  // Whether Value::sum is the sum: of float64 the signs of zeros, and NaN and infinities, are lost
  // beside what it starts at, and for the largest numbers there is no start.
  WARPFOLD_HD bool is_sum_told() const { return is_sum_told_; }

  WARPFOLD_HD Value Identity() const {
    Number none;
    if constexpr (kIsDouble<T>) {
      none = {start_, 0};
    } else {
      none = -0.0;
    }
    if constexpr (kHasSquares) {
      return {none, none, {start_of_squares_, 0}};
    } else {
      return {none};
    }
  }
  WARPFOLD_HD static void Add(Value& value, T x) {
    double wide = WidenToDouble(x);
    if constexpr (F::kOmitsNan) wide = IsNan(x) ? -0.0 : wide;
    AddNumber(value.sum, wide);
    if constexpr (kHasSquares) {
      AddNumber(value.absolute_sum, std::fabs(wide));
      AddSquare(value.squares, wide);
    }
  }
  WARPFOLD_HD Value Combine(const Value& a, const Value& b) const {
    return Join::Combine(a, Settled(b));
  }

  // Without what the highs start at.
  WARPFOLD_HD Value Settled(Value value) const {
    if constexpr (kIsDouble<T>) value.sum.high -= start_;
    if constexpr (kHasSquares) {
      if constexpr (kIsDouble<T>) value.absolute_sum.high -= start_;
      value.squares.high -= start_of_squares_;
    }
    return value;
  }
  // Joins what is settled.
  struct Join {
    using Acc = Value;
    WARPFOLD_HD static Acc Combine(const Acc& a, const Acc& b) {
      if constexpr (kHasSquares) {
        return {Added(a.sum, b.sum), Added(a.absolute_sum, b.absolute_sum),
                Added(a.squares, b.squares)};
      } else {
        return {Added(a.sum, b.sum)};
      }
    }
  };
  WARPFOLD_HD static void Put(const Value& settled, typename F::Acc& acc) {
    F::template Get<BoundedSum<T>>(acc) = settled.sum;
    if constexpr (kHasSquares) {
      F::template Get<BoundedAbsSum<T>>(acc) = settled.absolute_sum;
      F::template Get<SquareSumPair<T>>(acc) = settled.squares;
    }
  }

 private:
  // 1.5 * 2^exponent, or not finite.
  WARPFOLD_HD static double StartOf(int exponent) {
    const int biased = exponent + 1023;
    const std::uint64_t top = biased < 1 ? 1 : biased > 0x7ff ? 0x7ff : biased;
    return BitCast<double>(top << 52 | std::uint64_t{1} << 51);
  }
  WARPFOLD_HD static void AddNumber(double& a, double x) { a += x; }
  WARPFOLD_HD static void AddNumber(Pair& a, double x) {
    const double sum = a.high + x;
    a = {sum, a.low + (x - (sum - a.high))};
  }
  WARPFOLD_HD static void AddSquare(Pair& a, double x) {
    const double sum = std::fma(x, x, a.high);
    a = {sum, a.low + std::fma(x, x, a.high - sum)};
  }
  WARPFOLD_HD static double Added(double a, double b) { return a + b; }
  WARPFOLD_HD static Pair Added(const Pair& a, const Pair& b) {
    return {a.high + b.high, a.low + b.low};
  }

  bool is_sum_told_;
  double start_;
  double start_of_squares_;
};

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_WINDOWED_SUMS_H_
