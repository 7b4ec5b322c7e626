// Rows of floats that are hard to sum, and what the CPU's exact sums, which GMP has judged, make of
// them.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_HARD_ROWS_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_HARD_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cpu/exact_sums.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/finish.h"
#include "kernels/exact/state.h"
#include "kernels/ops/op.h"
#include "kernels/types.h"
#include "tests/kernels/exact/adversarial.h"

namespace warpfold::testing {

template <typename T>
std::vector<T> HardRow(HardFloat kind, std::size_t count, std::mt19937_64& random) {
  std::vector<T> row;
  row.reserve(count);
  for (const std::uint64_t bits : HardFloats(kDTypeOf<T>, kind, count, random)) {
    row.push_back(BitCast<T>(static_cast<typename exact::FloatFormat<T>::Bits>(bits)));
  }
  return row;
}

// Runs of kinds one after another, each of up to `run` elements.
template <typename T>
std::vector<T> MixedHardRow(std::size_t count, std::size_t run, std::mt19937_64& random) {
  std::vector<T> row;
  while (row.size() < count) {
    const HardFloat kind = kHardFloats[random() % std::size(kHardFloats)];
    // They would be all that is to be seen of the sum.
    if (kind == HardFloat::kSpecials || kind == HardFloat::kHuge) continue;
    const std::size_t length = std::min(count - row.size(), 1 + random() % run);
    const std::vector<T> part = HardRow<T>(kind, length, random);
    row.insert(row.end(), part.begin(), part.end());
  }
  return row;
}

// The element of an exponent field with the largest mantissa.
template <typename T>
T LargestOfField(int field, bool is_negative) {
  using Format = exact::FloatFormat<T>;
  using Bits = typename Format::Bits;
  constexpr Bits kStored = (Bits{1} << (Format::kPrecision - 1)) - 1;
  const auto sign =
      static_cast<Bits>(Bits{is_negative} << (Format::kPrecision - 1 + Format::kExponentBits));
  return BitCast<T>(static_cast<Bits>(
      sign | static_cast<Bits>(static_cast<Bits>(field) << (Format::kPrecision - 1)) | kStored));
}

// As many elements of one sign as of the other, all of the largest mantissa and with the exponent
// field `field`, but for one of them, which is `apart` binades below and so is the sum: a bit that
// is lost on the way is missing in it.
template <typename T>
std::vector<T> RowApart(std::size_t count, int field, int apart, bool negative) {
  std::vector<T> row(count, LargestOfField<T>(field, negative));
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(count / 2), row.end(),
            LargestOfField<T>(field, !negative));
  row[count / 4] = LargestOfField<T>(field - apart, negative);
  row.back() = T{};
  return row;
}

// Elements of one sign and of the largest mantissa, with one in a hundred so far below that no
// window holds both. f64: so far that a digit's word takes all but a bit of the others' mantissas.
template <typename T>
std::vector<T> WideRowOfOneSign(std::size_t count) {
  constexpr int kTop = (1 << exact::FloatFormat<T>::kExponentBits) * 3 / 4;
  constexpr int kApart = std::is_same_v<T, double> ? 575 : kTop / 2;
  std::vector<T> row(count, LargestOfField<T>(kTop, false));
  for (std::size_t i = 0; i < count; i += 100) row[i] = LargestOfField<T>(kTop - kApart, false);
  return row;
}

template <typename T>
FloatOf<T> ExactCpuSum(const std::vector<T>& row) {
  using Element = Lifted<T>;
  using Layout = exact::DigitLayout<Element, 1>;
  exact::WideSum<Layout> sum;
  const auto count = static_cast<std::int64_t>(row.size());
  std::vector<Element> elements(row.size());
  std::transform(row.begin(), row.end(), elements.begin(), [](T x) { return Lift(x); });
  const cpu::ExactSumLoop<Element, false>& loop = cpu::GetExactSumLoops();
  const std::uint32_t specials = loop.add(elements.data(), count, {.sum = sum.words});
  exact::Normalize(sum);
  return exact::FinishSum<FloatOf<T>>(exact::MagnitudeOf(sum),
                                      {.count = count, .specials = specials});
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_HARD_ROWS_H_
