// From exact sums to results: what each op is of S, the sum of the elements, A, that of their
// absolute values, and Q, that of their squares, rounded once. docs/numerics.md has the table.
// The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_EXACT_FINISH_H_
#define WARPFOLD_KERNELS_EXACT_FINISH_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/exact/quotient.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"
#include "kernels/exact/variance_divisor.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// The elements of an output that take part.
struct Participants {
  std::int64_t count = 0;
  std::uint32_t specials = 0;  // Specials
};

namespace internal {

constexpr std::uint32_t kBothInfinities = kHasPositiveInfinity | kHasNegativeInfinity;

// Of SUM and MEAN, where digits do not say it.
template <typename R>
WARPFOLD_HD R NotFiniteSum(std::uint32_t specials) {
  const std::uint32_t infinities = specials & kBothInfinities;
  if ((specials & kHasNan) != 0 || infinities == kBothInfinities) return QuietNan<R>();
  return Infinity<R>(infinities == kHasNegativeInfinity);
}

// Of the norms.
template <typename R>
WARPFOLD_HD R NotFiniteNorm(std::uint32_t specials) {
  return (specials & kHasNan) != 0 ? QuietNan<R>() : Infinity<R>(false);
}

// Whether an exact sum of 0 is -0.0.
WARPFOLD_HD bool IsNegativeZero(const Participants& of) {
  return of.count > 0 && (of.specials & kHasOtherThanNegativeZero) == 0;
}

}  // namespace internal

template <typename R>
WARPFOLD_HD R FinishSum(const Leading& sum, bool is_negative, const Participants& of) {
  if ((of.specials & kNotFinite) != 0) return internal::NotFiniteSum<R>(of.specials);
  return Round<R>(sum, sum.top == 0 ? internal::IsNegativeZero(of) : is_negative);
}
template <typename R, class Layout>
WARPFOLD_HD R FinishSum(const Magnitude<Layout>& sum, const Participants& of) {
  return FinishSum<R>(LeadingOf(sum.View(), Layout::kUnit), sum.is_negative, of);
}

template <typename R, class Layout>
WARPFOLD_HD R FinishMean(const Magnitude<Layout>& sum, const Participants& of) {
  if (of.count == 0) return QuietNan<R>();
  if ((of.specials & kNotFinite) != 0) return internal::NotFiniteSum<R>(of.specials);
  const Leading value = Quotient(sum.View(), static_cast<std::uint64_t>(of.count), Layout::kUnit);
  return Round<R>(value, value.top == 0 ? internal::IsNegativeZero(of) : sum.is_negative);
}

template <typename R, class Layout>
WARPFOLD_HD R FinishL1Norm(const Magnitude<Layout>& absolute_sum, const Participants& of) {
  if ((of.specials & kNotFinite) != 0) return internal::NotFiniteNorm<R>(of.specials);
  return Round<R>(LeadingOf(absolute_sum.View(), Layout::kUnit), false);
}

template <typename R, class Layout>
WARPFOLD_HD R FinishL2Norm(const Magnitude<Layout>& squares, const Participants& of) {
  if ((of.specials & kNotFinite) != 0) return internal::NotFiniteNorm<R>(of.specials);
  return Round<R>(RootOf<R>(squares.View(), Layout::kUnit), false);
}

// What VAR and STD divide by, and what they are where that is not positive.
struct Variance {
  double correction = 0;
  bool omits_nan = false;
};

// VAR, or STD if kRoot: of N / (n (n - correction)) with N = n Q - S^2, or its root.
template <typename R, bool kRoot, class SumLayout, class SquareLayout>
WARPFOLD_HD R FinishVariance(const Magnitude<SumLayout>& sum,
                             const Magnitude<SquareLayout>& squares, const Participants& of,
                             const Variance& as) {
  static_assert(SquareLayout::kUnit == 2 * SumLayout::kUnit);
  if (of.count == 0 || (of.specials & kNotFinite) != 0) return QuietNan<R>();
  const VarianceDivisor divisor(of.count, as.correction);
  if (!divisor.is_positive() && as.omits_nan) return QuietNan<R>();
  // N has the bits of n Q, and S^2 no more.
  std::uint64_t square[2 * SumLayout::kMagnitudeWords];
  std::uint64_t numerator[SquareLayout::kMagnitudeWords + 1];
  const WordsView n = MultiplySubtract(squares.View(), static_cast<std::uint64_t>(of.count),
                                       Square(sum.View(), square), numerator);
  if (BitLength(n) == 0) {
    return divisor.is_positive() ? Round<R>({0, 0, false}, false) : QuietNan<R>();
  }
  if (!divisor.is_positive()) return Infinity<R>(false);
  // Below 2^64 * 2^63.
  const uint128 denominator = uint128{divisor.digits} * static_cast<uint128>(of.count);
  const std::int64_t unit = std::int64_t{SquareLayout::kUnit} - divisor.exponent;
  return Round<R>(kRoot ? RootOfQuotient<R>(n, denominator, unit) : Quotient(n, denominator, unit),
                  false);
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_FINISH_H_
