// The exact sums behind one output while a reduction runs: how two parts of them join, in any
// order, and what results they finish to. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_EXACT_SUMS_H_
#define WARPFOLD_KERNELS_EXACT_SUMS_H_

#include <cstdint>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/finish.h"
#include "kernels/exact/state.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"
#include "kernels/ops/statistic.h"
#include "kernels/types.h"

namespace warpfold::exact {

// What is summed of elements that no component (components.h) sums exactly: of floats the elements,
// or also their absolute values and their squares; of integers of 32 and 64 bits the squares.
enum class Sums : std::uint8_t { kNone, kSum, kStatistics };

template <typename T>
inline constexpr bool kHasWideSquares = !kIsFloat<T> && !kSquaresExactly<T>;

// An integer result's words: of sums of up to 2^63 elements, or of their squares.
template <int kWords>
struct IntegerLayout {
  static constexpr int kUnit = 0;
  static constexpr int kMagnitudeWords = kWords;
};
template <typename T>
inline constexpr int kSquareWords = kIsWideInteger<T> ? 3 : 2;

template <typename T, Sums kSums>
struct SumsState {};

template <typename T>
requires kIsFloat<T>
struct SumsState<T, Sums::kSum> {
  WideSum<DigitLayout<T, 1>> sum;
  std::uint32_t specials = 0;  // Specials
};

template <typename T>
requires kIsFloat<T>
struct SumsState<T, Sums::kStatistics> {
  WideSum<DigitLayout<T, 1>> sum;
  WideSum<DigitLayout<T, 1>> absolute_sum;
  WideSum<DigitLayout<T, 2>> squares;
  std::uint32_t specials = 0;
};

template <typename T>
requires kHasWideSquares<T>
struct SumsState<T, Sums::kStatistics> {
  std::uint64_t squares[kSquareWords<T>] = {};
};

// What cuda/output_sums.h keeps of an output.
template <typename T, Sums kSums>
struct OutputSums {
  SumsState<T, kSums> sums;
  std::int64_t omitted = 0;  // NaN that is left out
};

// Adds a normalised state to another, which has to be normalised after 2^30 of them.
template <typename T, Sums kSums>
WARPFOLD_HD void Join(SumsState<T, kSums>& state, const SumsState<T, kSums>& other) {
  if constexpr (kSums == Sums::kNone) {
    return;
  } else if constexpr (kIsFloat<T>) {
    state.specials |= other.specials;
    Join(state.sum, other.sum);
    if constexpr (kSums == Sums::kStatistics) {
      Join(state.absolute_sum, other.absolute_sum);
      Join(state.squares, other.squares);
    }
  } else {
    uint128 carry = 0;
    for (int w = 0; w < kSquareWords<T>; ++w) {
      carry += uint128{state.squares[w]} + other.squares[w];
      state.squares[w] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }
}

// Of equal elements equal states come, however they were added up: digits that a NaN or an infinity
// hides are zeros.
template <typename T, Sums kSums>
WARPFOLD_HD void Normalize(SumsState<T, kSums>& state) {
  if constexpr (kSums != Sums::kNone && kIsFloat<T>) {
    if ((state.specials & kNotFinite) != 0) {
      const std::uint32_t specials = state.specials;
      state = {};
      state.specials = specials;
      return;
    }
    Normalize(state.sum);
    if constexpr (kSums == Sums::kStatistics) {
      Normalize(state.absolute_sum);
      Normalize(state.squares);
    }
  }
}

// A statistic of the sums of `count` floats, of their normalised state, rounded to an R.
template <typename R, typename T, Sums kSums>
WARPFOLD_HD_SHARED R Finish(Statistic statistic, const SumsState<T, kSums>& state,
                            std::int64_t count, const Variance& variance) {
  const Participants of{count, state.specials};
  if (statistic == Statistic::kSum) return FinishSum<R>(MagnitudeOf(state.sum), of);
  if (statistic == Statistic::kMean) return FinishMean<R>(MagnitudeOf(state.sum), of);
  if constexpr (kSums == Sums::kStatistics) {
    if (statistic == Statistic::kL1Norm)
      return FinishL1Norm<R>(MagnitudeOf(state.absolute_sum), of);
    const auto squares = MagnitudeOf(state.squares);
    if (statistic == Statistic::kL2Norm) return FinishL2Norm<R>(squares, of);
    const auto sum = MagnitudeOf(state.sum);
    return statistic == Statistic::kVariance ? FinishVariance<R, false>(sum, squares, of, variance)
                                             : FinishVariance<R, true>(sum, squares, of, variance);
  }
  return QuietNan<R>();  // no sums to tell it
}

// What the sums of integers are.
struct IntegerSums {
  std::int64_t count;
  int128 sum;
  int128 absolute_sum;
};

namespace internal {

template <int kWords>
WARPFOLD_HD Magnitude<IntegerLayout<kWords>> MagnitudeOf(const std::uint64_t* words) {
  Magnitude<IntegerLayout<kWords>> magnitude = {};
  for (int w = 0; w < kWords; ++w) magnitude.words[w] = words[w];
  return magnitude;
}
WARPFOLD_HD Magnitude<IntegerLayout<2>> MagnitudeOf(int128 x) {
  const uint128 size = x < 0 ? uint128{0} - static_cast<uint128>(x) : static_cast<uint128>(x);
  return {{static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(size >> 64)}, x < 0};
}

}  // namespace internal

// A statistic of integers, but for their sum; their squares add up to kWords `squares`.
template <int kWords>
WARPFOLD_HD_SHARED double Finish(Statistic statistic, const IntegerSums& of,
                                 const std::uint64_t* squares, const Variance& variance) {
  const Participants participants{of.count, kHasOtherThanNegativeZero};
  if (statistic == Statistic::kMean) {
    // Mostly a quotient of two float64 numbers, which the processor rounds once.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (of.sum >= -kExact && of.sum <= kExact && of.count > 0 && of.count <= kExact) {
      return static_cast<double>(static_cast<std::int64_t>(of.sum)) / static_cast<double>(of.count);
    }
    return FinishMean<double>(internal::MagnitudeOf(of.sum), participants);
  }
  if (statistic == Statistic::kL1Norm) {
    return FinishL1Norm<double>(internal::MagnitudeOf(of.absolute_sum), participants);
  }
  const auto square_sum = internal::MagnitudeOf<kWords>(squares);
  if (statistic == Statistic::kL2Norm) return FinishL2Norm<double>(square_sum, participants);
  const auto sum = internal::MagnitudeOf(of.sum);
  return statistic == Statistic::kVariance
             ? FinishVariance<double, false>(sum, square_sum, participants, variance)
             : FinishVariance<double, true>(sum, square_sum, participants, variance);
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_SUMS_H_
