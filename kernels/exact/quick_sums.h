// Most results of bounded sums (bounded.h), in few instructions: where the sums are exact, and
// where both ends of what the real one may be round alike. What this does not tell bounded_finish.h
// does.
#ifndef WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_
#define WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/bounded.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold::exact {

// What an output's sums are divided by, and the reciprocals of these, by which most results are
// told without a division.
struct Divisors {
  std::int64_t reduced_count = 1;
  double correction = 0;                // of VAR and STD
  double inverse_count = 1;             // 1 / n
  double inverse_variance_divisor = 0;  // 1 / (n (n - correction)); 0: there is none
  int count_bits = 1;                   // of n

  Divisors() = default;
  WARPFOLD_HD Divisors(std::int64_t count, double variance_correction)
      : reduced_count(count), correction(variance_correction) {
    const auto n = static_cast<double>(count);
    const double divisor = n - correction;
    inverse_count = 1 / n;
    count_bits = BitLength(static_cast<uint128>(count));
    if (divisor > 0 && divisor < 0x1p64) inverse_variance_divisor = 1 / (n * divisor);
  }
};

namespace internal {

// Additions that an element goes through one after another, at most: of columns 256 of a thread's
// rows (32 leaves), 9 over the threads of a block and 14 in each further pass (5 of a thread's 32
// states, 9 over the threads), of which there are no more than 5, as each leaves a 128th or less.
// Rows take fewer.
inline constexpr double kAdditionsMax = 512;
// Of the float64 sums of so many, as a share of the sum of absolute values; and of those of pairs.
inline constexpr double kSumError = kAdditionsMax * 0x1p-53;
inline constexpr double kDoubleDoubleSumError = 4 * kSumError * kSumError;

WARPFOLD_HD bool IsFinite(double x) { return std::fabs(x) <= 0x1.fffffffffffffp1023; }

// The largest element's size of a state; NaN beats all.
template <class F>
WARPFOLD_HD std::int32_t LargestOf(const typename F::State& state) {
  using T = typename F::Element;
  if constexpr (F::template kHas<LargestSize<T>>) {
    return F::template Get<LargestSize<T>>(state);
  } else {
    // Of nothing the keys are beyond all.
    if (F::template Get<Min<T>>(state) > F::template Get<Max<T>>(state)) return 0;
    const std::int32_t least = SizeOf(FromKey<T>(F::template Get<Min<T>>(state)));
    const std::int32_t greatest = SizeOf(FromKey<T>(F::template Get<Max<T>>(state)));
    return least > greatest ? least : greatest;
  }
}

// No less than the largest element; not finite if that is not.
template <class F>
WARPFOLD_HD double SizeBound(const typename F::State& state) {
  const std::int32_t largest = LargestOf<F>(state);
  if constexpr (kSumsAreDoubleDouble<typename F::Element>) {
    return BitCast<double>(static_cast<std::uint64_t>(largest) << 32 | 0xffffffffu);
  } else {
    return static_cast<double>(BitCast<float>(static_cast<std::uint32_t>(largest)));
  }
}

// The exponent of elements of a size; subnormal numbers have the unit of exponent 1.
template <typename T>
WARPFOLD_HD int ExponentOf(std::int32_t size) {
  const int exponent = size >> (kIsDouble<T> ? 20 : 23);
  return exponent > 1 ? exponent : 1;
}

// Whether every sum of elements of these sizes is exact, of so many that their number has
// `count_bits`. `smallest_less_one`: SmallestSize's.
template <typename T>
WARPFOLD_HD bool AreSumsExact(std::int32_t largest, std::int32_t smallest_less_one,
                              int count_bits) {
  constexpr int kBits = kSumsAreDoubleDouble<T> ? 106 : 53;
  constexpr int kInfinity = kIsDouble<T> ? 0x7ff00000 : 0x7f800000;
  const int room =
      kBits - FloatFormat<T>::kPrecision - (kSumsAreDoubleDouble<T> ? 2 * count_bits : count_bits);
  const bool is_zero = smallest_less_one == SmallestSize<T>::kNone;
  return largest < kInfinity &&
         (is_zero || ExponentOf<T>(largest) - ExponentOf<T>(smallest_less_one + 1) <= room);
}

// What tells most results in few instructions.
template <class F>
class QuickSums {
 public:
  using T = typename F::Element;
  using R = FloatOf<typename F::Storage>;

  QuickSums() = default;
  WARPFOLD_HD QuickSums(const typename F::State& state, const Divisors& of_all)
      : divisors_(of_all) {
    if constexpr (F::kOmitsNan) {
      divisors_ = {F::CountOf(state, of_all.reduced_count), of_all.correction};
    }
    is_exact_ = AreSumsExact<T>(LargestOf<F>(state), F::template Get<SmallestSize<T>>(state),
                                of_all.count_bits);
    sum_ = F::template Get<BoundedSum<T>>(state);
    sum_error_ = is_exact_ ? 0
                           : static_cast<double>(of_all.reduced_count) * SizeBound<F>(state) *
                                 (kSumsAreDoubleDouble<T> ? kDoubleDoubleSumError : kSumError);
    if constexpr (kHasSquares) {
      absolute_sum_ = F::template Get<BoundedAbsSum<T>>(state);
      squares_ = F::template Get<SquareSumPair<T>>(state);
    }
  }

  // False also of an output of no elements, and of NaN and infinities.
  WARPFOLD_HD bool Finish(Statistic statistic, R* to) const {
    if (divisors_.reduced_count == 0) return false;
    if (statistic == Statistic::kSum) return Give(sum_, sum_error_, to);
    if (statistic == Statistic::kMean) return FinishMean(to);
    if constexpr (kHasSquares) {
      if (statistic == Statistic::kL1Norm) {
        const double error =
            HighOf(absolute_sum_) * (kSumsAreDoubleDouble<T> ? kDoubleDoubleSumError : kSumError);
        return Give(absolute_sum_, is_exact_ ? 0 : error, to);
      }
      if constexpr (!kSumsAreDoubleDouble<T>) {
        if (statistic == Statistic::kL2Norm) {
          const double root = std::sqrt(squares_.high + squares_.low);
          return root != 0 && Give(root, root * 0x1p-50, to);
        }
        return FinishVariance(statistic == Statistic::kDeviation, to);
      }
    }
    return false;
  }

 private:
  using Number = typename BoundedSum<T>::State;
  static constexpr bool kHasSquares = F::template kHas<SquareSumPair<T>>;
  struct Nothing {};
  template <typename Value>
  using OfStatistics = std::conditional_t<kHasSquares, Value, Nothing>;

  WARPFOLD_HD static double HighOf(double x) { return x; }
  WARPFOLD_HD static double HighOf(const Pair& x) { return x.high; }

  // What all numbers within `error` of `value` round to; of no error the value may be a tie.
  WARPFOLD_HD static bool Give(double value, double error, R* to) {
    const R low = RoundFromDouble<R>(value - error);
    const R high = RoundFromDouble<R>(value + error);
    *to = low;
    if (error == 0) return IsFinite(value);
    return Widen(low) == Widen(high) && Widen(low) != 0;
  }
  WARPFOLD_HD static bool Give(const Pair& value, double error, R* to) {
    const Pair near = TwoSum(value.high, value.low);
    *to = near.high;
    if (error == 0) return IsFinite(near.high) && near.high != 0;
    *to = near.high + (near.low - error);
    return *to == near.high + (near.low + error) && IsFinite(*to) && *to != 0;
  }

  WARPFOLD_HD bool FinishMean(R* to) const {
    const std::int64_t count = divisors_.reduced_count;
    const double inverse = divisors_.inverse_count;
    const bool is_shift = (count & (count - 1)) == 0;
    const double error = sum_error_ * inverse * (1 + 0x1p-40);
    if constexpr (kSumsAreDoubleDouble<T>) {
      const Pair sum = TwoSum(sum_.high, sum_.low);
      // Far from where bits are lost.
      if (!(std::fabs(sum.high) > 0x1p-800)) return false;
      if (is_shift) return Give(Pair{sum.high * inverse, sum.low * inverse}, error, to);
      const double quotient = sum.high * inverse;
      const double left = std::fma(-quotient, static_cast<double>(count), sum.high) + sum.low;
      return Give(Pair{quotient, left * inverse}, error + std::fabs(quotient) * 0x1p-100, to);
    } else {
      const double mean = sum_ * inverse;
      return Give(mean, is_shift ? error : error + std::fabs(mean) * 0x1p-51, to);
    }
  }

  WARPFOLD_HD bool FinishVariance(bool is_root, R* to) const {
    const double inverse = divisors_.inverse_variance_divisor;
    if (inverse == 0) return false;
    const double all =
        static_cast<double>(divisors_.reduced_count) * (squares_.high + squares_.low);
    const double square = sum_ * sum_;
    const double variance = (all - square) * inverse;
    // What S is off by; these operations by less, as n Q = N + S^2 and |S| is no more than the sum
    // of absolute values; and n and the divisor.
    const double error = 2 * kSumError * absolute_sum_ * std::fabs(sum_) * inverse * (1 + 0x1p-20) +
                         variance * 0x1p-48;
    if (!is_root) return error != 0 && Give(variance, error, to);
    if (!(error < variance * 0.25)) return false;
    const double root = std::sqrt(variance);
    return Give(root, error / root + root * 0x1p-50, to);
  }

  Divisors divisors_;
  bool is_exact_;
  Number sum_;
  double sum_error_;
  OfStatistics<Number> absolute_sum_;
  OfStatistics<Pair> squares_;
};

}  // namespace internal

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_
