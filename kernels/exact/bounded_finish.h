// From bounded sums (bounded.h) to results: each is given if all that the real one may be rounds to
// it, and else the output is undecided and has to be added up exactly. The same text on CPU and
// GPU.
//
// Sums of elements that lie close together are known to be exact, so that a result halfway between
// two numbers is decided; such are common where elements are whole numbers.
#ifndef WARPFOLD_KERNELS_EXACT_BOUNDED_FINISH_H_
#define WARPFOLD_KERNELS_EXACT_BOUNDED_FINISH_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/bounded.h"
#include "kernels/exact/quick_sums.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/variance_divisor.h"
#include "kernels/exact/words.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold::exact {

namespace internal {

// A real number: within `error` of high + low.
struct Near {
  double high;
  double low;
  double error;
};

// Of a few operations on pairs.
inline constexpr double kPairError = 0x1p-98;
// What products of less than 2^-969 are rounded by.
inline constexpr double kProductError = 0x1p-1070;

// Of float64 squares. Their windows round by 2^-79 of the sum, and by 2^-88 of the largest square
// for each element; joins of states by 2^-97 of the sum.
WARPFOLD_HD double SquareSumError(double count, std::int32_t largest, double sum) {
  const double bound = SizeBound<double>(largest);
  return std::fmin(sum * kPairSumError<double>, count * (bound * bound) * 0x1p-88) + sum * 0x1p-96;
}

// The number that `value` rounds to; false if there are two.
template <typename R>
WARPFOLD_HD bool Round(const Near& value, R* to) {
  const Pair sum = Normalized({value.high, value.low});
  if (value.error == 0) {
    if constexpr (kIsDouble<R>) {
      *to = sum.high;
      return true;
    } else if (sum.low == 0) {
      *to = RoundFromDouble<R>(sum.high);
      return true;
    }
  }
  // And what these two additions are rounded by.
  if constexpr (kIsDouble<R>) {
    const double error = value.error * (1 + 0x1p-50) + std::fabs(sum.low) * 0x1p-52;
    *to = sum.high + (sum.low - error);
    return *to == sum.high + (sum.low + error) && IsFinite(*to);
  } else {
    const double error =
        (value.error + std::fabs(sum.low)) * (1 + 0x1p-50) + std::fabs(sum.high) * 0x1p-52;
    const R low = RoundFromDouble<R>(sum.high - error);
    const R high = RoundFromDouble<R>(sum.high + error);
    *to = low;
    using Bits = typename FloatFormat<R>::Bits;
    return BitCast<Bits>(low) == BitCast<Bits>(high);
  }
}

// value / (d + d_low), which is positive.
WARPFOLD_HD Near Divide(const Near& value, double d, double d_low) {
  const double quotient = value.high / d;
  const Pair left =
      TwoSum(std::fma(-quotient, d, value.high), std::fma(-quotient, d_low, value.low));
  const double more = left.high / d;
  // Often where d is a power of two; then the quotient may lie halfway between two numbers.
  const bool is_exact = d_low == 0 && left.low == 0 && std::fma(-more, d, left.high) == 0;
  return {
      quotient, more,
      value.error / d * (1 + 0x1p-40) +
          (is_exact && value.error == 0 ? 0 : std::fabs(quotient) * kPairError + kProductError)};
}

// Of a number that is not negative.
WARPFOLD_HD Near Root(const Near& value) {
  const Pair sum = Normalized({value.high, value.low});
  if (sum.high == 0 && value.error == 0) return {0, 0, 0};
  // Less than half of it is undecided, or all.
  if (!(value.error < sum.high * 0.5)) return {sum.high, 0, Infinity<double>(false)};
  const double root = std::sqrt(sum.high);
  const double left = std::fma(-root, root, sum.high) + sum.low;
  const bool is_exact = left == 0 && sum.low == 0 && value.error == 0;
  // Below these the rest of a product is not a number.
  const double rounding = sum.high < 0x1p-960 ? root * 0x1p-50 : root * kPairError;
  return {root, left / (2 * root), value.error / root + (is_exact ? 0 : rounding)};
}

// What a state's sums say of one output.
template <class F>
struct BoundedSums {
  using T = typename F::Element;
  using R = FloatOf<typename F::Storage>;
  static constexpr bool kHasSquares = F::template kHas<SquareSumPair<T>>;
  static constexpr int kInfinitySize = kIsDouble<T> ? 0x7ff00000 : 0x7f800000;

  std::int64_t count;
  double n;
  bool has_special;  // NaN or an infinity
  bool has_nan;
  Near sum;
  Near absolute_sum;
  Near squares;

  WARPFOLD_HD BoundedSums(const typename F::State& state, std::int64_t reduced_count) {
    count = F::CountOf(state, reduced_count);
    n = static_cast<double>(count);
    const NearSum<T>& near = F::template Get<BoundedSum<T>>(state);
    if constexpr (kIsDouble<T> || kHasSquares) {
      std::int32_t largest = 0;
      if constexpr (kIsDouble<T>) {
        largest = near.largest;
      } else {
        largest = LargestOf<F>(state);
      }
      has_special = largest >= kInfinitySize;
      has_nan = largest > kInfinitySize;
    } else {
      // No sum of finite elements leaves the float64 numbers.
      has_special = !IsFinite(near.high);
      has_nan = IsNan(near.high);
    }
    sum = {near.high, 0, 0};
    if (!has_special) sum = NumberOf(near.value());
    sum.error = near.error();
    if constexpr (kHasSquares) {
      const std::int32_t largest = LargestOf<F>(state);
      const std::int32_t smallest_less_one = SmallestOf<F>(state);
      const int count_bits = BitLength(static_cast<uint128>(count));
      absolute_sum = NumberOf(F::template Get<BoundedAbsSum<T>>(state));
      squares = NumberOf(F::template Get<SquareSumPair<T>>(state));
      if (smallest_less_one == SmallestSize<T>::kNone) return;  // zeros
      if (has_special || !AreSumsExact<T>(largest, smallest_less_one, count_bits)) {
        absolute_sum.error = absolute_sum.high * (1 + 0x1p-40) * kSumErrorOf<T>;
      }
      if constexpr (kIsDouble<T>) {
        squares.error = SquareSumError(n, largest, squares.high) + n * kProductError;
      } else if (has_special || !AreSumsExact<T>(largest, smallest_less_one, count_bits + 1)) {
        // Squares have twice the bits, and twice the exponents.
        squares.error = squares.high * kPairSumError<T>;
      }
    }
  }

  // False if it is undecided.
  WARPFOLD_HD bool Finish(Statistic statistic, double correction, R* to) const {
    if (statistic == Statistic::kVariance || statistic == Statistic::kDeviation) {
      if (has_special || count == 0) return Give(QuietNan<R>(), to);
      return FinishVariance(statistic == Statistic::kDeviation, correction, to);
    }
    if (statistic == Statistic::kSum || statistic == Statistic::kMean) {
      if (count == 0) return Give(statistic == Statistic::kSum ? R{} : QuietNan<R>(), to);
      if (has_special) return FinishSpecialSum(to);
      return IsFinite(sum.high) &&
             Round(statistic == Statistic::kSum ? sum : Divide(sum, n, 0), to);
    }
    // The norms.
    if (has_special) return Give(has_nan ? QuietNan<R>() : Infinity<R>(false), to);
    if (count == 0) return Give(R{}, to);
    if constexpr (kHasSquares) {
      if (statistic == Statistic::kL1Norm)
        return IsFinite(absolute_sum.high) && Round(absolute_sum, to);
      return IsFinite(squares.high) && Round(Root(squares), to);
    }
    return false;
  }

 private:
  WARPFOLD_HD static bool Give(R value, R* to) {
    *to = value;
    return true;
  }
  WARPFOLD_HD static Near NumberOf(double x) { return {x, 0, 0}; }
  WARPFOLD_HD static Near NumberOf(const Pair& x) {
    const Pair number = Normalized(x);
    return {number.high, number.low, 0};
  }

  WARPFOLD_HD bool FinishSpecialSum(R* to) const {
    if (has_nan) return Give(QuietNan<R>(), to);
    // A sum of finite elements may have come to an infinity, too, and met one of the other sign.
    if (IsNan(sum.high)) return Give(QuietNan<R>(), to) && !kIsDouble<T>;
    return Give(Infinity<R>(sum.high < 0), to);
  }

  WARPFOLD_HD bool FinishVariance(bool is_root, double correction, R* to) const {
    if constexpr (!kHasSquares) {
      return false;
    } else {
      if (!IsFinite(squares.high) || !IsFinite(sum.high)) return false;
      const VarianceDivisor divisor(count, correction);
      if (!divisor.is_positive() && F::kOmitsNan) return Give(QuietNan<R>(), to);
      // N = n Q - S^2.
      const Pair nq = TwoProduct(n, squares.high);
      const Pair square = TwoProduct(sum.high, sum.high);
      if (!IsFinite(nq.high) || !IsFinite(square.high)) return false;
      const Pair difference = TwoSum(nq.high, -square.high);
      Near numerator = NumberOf({difference.high, ((nq.low - square.low) + difference.low) +
                                                      (n * squares.low - 2 * sum.high * sum.low)});
      const bool are_equal =
          difference.high == 0 && nq.low == square.low && squares.low == 0 && sum.low == 0;
      const bool loses_bits = square.high != 0 && square.high < 0x1p-900;
      if (!are_equal || squares.error != 0 || sum.error != 0 || loses_bits) {
        numerator.error =
            (n * squares.error + 2 * std::fabs(sum.high) * sum.error + sum.error * sum.error) *
                (1 + 0x1p-40) +
            (nq.high + square.high) * kPairError + 4 * kProductError;
      }
      if (!divisor.is_positive()) {
        if (numerator.error == 0) return Give(QuietNan<R>(), to);
        if (!(numerator.high * 0.5 > numerator.error)) return false;
        return Give(Infinity<R>(false), to);
      }
      if (numerator.error == 0) return Give(R{}, to);
      // n (n - correction), whose factors a pair holds.
      if (!divisor.is_short() || count >= std::int64_t{1} << 53) return false;
      const Pair denominator = TwoProduct(n, divisor.ToDouble());
      const Near variance = Divide(numerator, denominator.high, denominator.low);
      return Round(is_root ? Root(variance) : variance, to);
    }
  }
};

// Out of line, as few results come here.
template <class F>
WARPFOLD_HD_NOINLINE bool FinishCarefully(Statistic statistic, const typename F::State& state,
                                          const Divisors& divisors,
                                          FloatOf<typename F::Storage>* to) {
  return BoundedSums<F>(state, divisors.reduced_count).Finish(statistic, divisors.correction, to);
}

}  // namespace internal

// The results of one output of a bounded fold. kKeepsQuick: what it works out of the state is kept
// from one op to the next, which takes registers.
template <class F, bool kKeepsQuick = false>
class BoundedOutput {
  using Quick = internal::QuickSums<F>;
  using R = FloatOf<typename F::Storage>;
  struct Nothing {};

 public:
  BoundedOutput() = default;
  // Both stay where they are as long as it lives.
  WARPFOLD_HD BoundedOutput(const typename F::State* state, const Divisors* divisors)
      : state_(state), divisors_(divisors) {
    if constexpr (kKeepsQuick) quick_ = {*state, *divisors};
  }

  // False if it is undecided.
  WARPFOLD_HD bool Finish(Statistic statistic, R* to) const {
    if constexpr (kKeepsQuick) {
      if (quick_.Finish(statistic, to)) return true;
    } else {
      if (Quick(*state_, *divisors_).Finish(statistic, to)) return true;
    }
    // Copies, so that what the quick way reads need not be in memory.
    const typename F::State state = *state_;
    const Divisors divisors = *divisors_;
    R result;
    const bool is_told = internal::FinishCarefully<F>(statistic, state, divisors, &result);
    *to = result;
    return is_told;
  }

 private:
  const typename F::State* state_;
  const Divisors* divisors_;
  std::conditional_t<kKeepsQuick, Quick, Nothing> quick_;
};

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_BOUNDED_FINISH_H_
