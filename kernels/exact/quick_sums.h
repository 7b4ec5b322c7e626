// Most results of bounded sums (bounded.h), in few instructions: where the sums are exact, and
// where both ends of what the real one may be round alike. What this does not tell bounded_finish.h
// does.
#ifndef WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_
#define WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
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

WARPFOLD_HD bool IsFinite(double x) { return std::fabs(x) <= 0x1.fffffffffffffp1023; }

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
    const NearSum<T>& sum = F::template Get<BoundedSum<T>>(state);
    const Pair near = sum.low == 0 ? Pair{sum.high, 0} : Normalized(sum.value());
    sum_error_ = sum.error();
    if constexpr (kSumsAreDoubleDouble<T>) {
      sum_ = near;
    } else {
      sum_ = near.high;
      // And what the two ends are rounded by.
      if (sum_error_ != 0 || near.low != 0) {
        sum_error_ =
            (sum_error_ + std::fabs(near.low)) * (1 + 0x1p-50) + std::fabs(near.high) * 0x1p-52;
      }
    }
    if constexpr (kHasSquares) {
      is_exact_ = AreSumsExact<T>(LargestOf<F>(state), SmallestOf<F>(state), of_all.count_bits);
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
        return Give(absolute_sum_, is_exact_ ? 0 : HighOf(absolute_sum_) * kSumErrorOf<T>, to);
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
  using Number = std::conditional_t<kSumsAreDoubleDouble<T>, Pair, double>;
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
    // And what these two additions are rounded by.
    const double off = error * (1 + 0x1p-50) + std::fabs(near.low) * 0x1p-52;
    *to = near.high + (near.low - off);
    return *to == near.high + (near.low + off) && IsFinite(*to) && *to != 0;
  }

  WARPFOLD_HD bool FinishMean(R* to) const {
    const std::int64_t count = divisors_.reduced_count;
    const double inverse = divisors_.inverse_count;
    const bool is_shift = (count & (count - 1)) == 0;
    // What is left of a small error is not nothing.
    const double error = sum_error_ == 0 ? 0 : sum_error_ * inverse * (1 + 0x1p-40) + 0x1p-1074;
    if constexpr (kSumsAreDoubleDouble<T>) {
      // Far from where bits are lost.
      if (!(std::fabs(sum_.high) > 0x1p-800)) return false;
      if (is_shift && (sum_.low == 0 || std::fabs(sum_.low) > 0x1p-900)) {
        return Give(Pair{sum_.high * inverse, sum_.low * inverse}, error, to);
      }
      const double quotient = sum_.high * inverse;
      const double left = std::fma(-quotient, static_cast<double>(count), sum_.high) + sum_.low;
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
    // What S is off by; and these operations, as n Q = N + S^2; and n and the divisor.
    const double error = ((2 * std::fabs(sum_) + sum_error_) * sum_error_ + square * 0x1p-50) *
                             inverse * (1 + 0x1p-20) +
                         variance * 0x1p-48;
    if (!is_root) return error != 0 && Give(variance, error, to);
    if (!(error < variance * 0.25)) return false;
    const double root = std::sqrt(variance);
    return Give(root, error / root + root * 0x1p-50, to);
  }

  Divisors divisors_;
  Number sum_;
  double sum_error_;
  OfStatistics<bool> is_exact_;  // the sum of absolute values
  OfStatistics<Number> absolute_sum_;
  OfStatistics<Pair> squares_;
};

}  // namespace internal

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_QUICK_SUMS_H_
